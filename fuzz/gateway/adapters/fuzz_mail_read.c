/*
 * fuzz_mail_read.c: any bytes as a mail: what is read of it is whole UTF-8 within its limits, and nobody is verified
 * who has no address.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/mail_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mail mail;
    int code = mail_read(view_of((const char *)data, size), "mx.home.example", "ethos@home.example",
                         &mail, NULL);
    if (code == ETHOS_OK) {
        assert(utf8_valid(str_view(&mail.text)) && utf8_valid(str_view(&mail.subject)));
        assert(strlen(mail.address) < MAIL_MAX_ADDRESS && strlen(mail.id) < MAIL_MAX_ID);
        assert(*mail.address || (mail.is_automatic && !mail.is_verified));
        for (const char *c = mail.address; *c; c++)
            assert((unsigned char)*c > ' ' && (unsigned char)*c < 0x7F);
    }
    mail_release(&mail);
    return 0;
}
