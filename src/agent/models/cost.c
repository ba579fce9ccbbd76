/*
 * cost.c: what an answer cost, in 1e-9 USD.
 */
#include "agent/models/cost.h"

#include "base/view.h"

#define TOKENS_PER_PRICE 1000000
#define PRICE_DIGITS 15 /* 1 USD per token is 1e15 */
#define MOST_PRICE 1000000000000000

/* Exactly, without the rounding of a binary fraction: "0.0000000375" is 37500000. */
int64_t cost_parse_per_token(struct ethos_view text)
{
    int64_t price = 0;
    int digits = -1; /* after the point */
    text = view_trim(text);
    if (text.size == 0)
        return COST_UNKNOWN;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '.' && digits < 0) {
            digits = 0;
            continue;
        }
        if (c < '0' || c > '9' || price > MOST_PRICE)
            return COST_UNKNOWN;
        if (digits == PRICE_DIGITS)
            continue;
        price = price * 10 + (c - '0');
        digits += digits >= 0;
    }
    for (digits = digits < 0 ? 0 : digits; digits < PRICE_DIGITS; digits++) {
        if (price > MOST_PRICE)
            return COST_UNKNOWN;
        price *= 10;
    }
    return price;
}

static int64_t cost_of(int64_t tokens, int64_t price)
{
    __int128 nano = (__int128)tokens * price;
    nano = (nano + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE;
    return nano > INT64_MAX / 8 ? INT64_MAX / 8 : (int64_t)nano;
}

static int64_t or_input(const struct model_prices *prices, int64_t price)
{
    return price == COST_UNKNOWN ? prices->input : price;
}

void cost_set(struct model_usage *usage, const struct model_prices *prices, bool is_local)
{
    bool is_priced = prices->input != COST_UNKNOWN && prices->output != COST_UNKNOWN;
    bool is_counted = (usage->known & MODEL_KNOWS_INPUT) && (usage->known & MODEL_KNOWS_OUTPUT);
    if ((usage->known & MODEL_KNOWS_COST) || (!is_local && !(is_priced && is_counted)))
        return;
    usage->known |= MODEL_KNOWS_COST;
    usage->nano_usd = !is_priced
                          ? 0
                          : cost_of(usage->input, prices->input) +
                                cost_of(usage->output, prices->output) +
                                cost_of(usage->cache_read, or_input(prices, prices->cache_read)) +
                                cost_of(usage->cache_write, or_input(prices, prices->cache_write));
}

void cost_add(struct model_usage *usage, const struct model_usage *other)
{
    unsigned both = usage->known & other->known & MODEL_KNOWS_COST;
    if (other->known == 0)
        return;
    if (usage->known == 0) {
        *usage = *other;
        return;
    }
    usage->input += other->input;
    usage->output += other->output;
    usage->cache_read += other->cache_read;
    usage->cache_write += other->cache_write;
    usage->thinking += other->thinking;
    usage->nano_usd += other->nano_usd;
    usage->known = ((usage->known | other->known) & ~(unsigned)MODEL_KNOWS_COST) | both;
}
