// mail_servers.mjs: dovecot and OpenSMTPD, real servers in folders of their own, and one for SMTP that can misbehave.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const DOVECOT = '/usr/sbin/dovecot', SMTPD = '/usr/sbin/smtpd';
const NOBODY = '65534:65534';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Whether they can run here: both want to be started by root.
export const hasDovecot = () => existsSync(DOVECOT) && process.getuid() === 0;
export const hasOpenSmtpd = () => existsSync(SMTPD) && process.getuid() === 0;

const freePort = () => new Promise((resolve) => { const server = createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); }); });

// The mailbox is a maildir; uidvalidity() makes it a new one to its clients.
export class Dovecot {
    async start() {
        this.dir ??= mkdtempSync('/tmp/ethos-dovecot-');
        this.port ??= await freePort();
        mkdirSync(join(this.dir, 'run'), { recursive: true });
        writeFileSync(join(this.dir, 'conf'), `
base_dir = ${this.dir}/run
log_path = ${this.dir}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:${this.dir}/mail
first_valid_uid = 0
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=${this.dir}
}
service imap-login {
  inet_listener imap {
    port = ${this.port}
  }
  inet_listener imaps {
    port = 0
  }
}
${this.extra ?? ''}
`);
        mkdirSync(join(this.dir, 'mail'), { recursive: true });
        execFileSync('chmod', ['755', this.dir]);
        execFileSync('chown', ['-R', NOBODY, join(this.dir, 'mail')]);
        this.child = spawn(DOVECOT, ['-F', '-c', join(this.dir, 'conf')], { stdio: 'ignore' });
        process.once('exit', () => this.child.kill('SIGTERM'));
        this.ended = new Promise((resolve) => this.child.once('exit', resolve));
        for (let i = 0; i < 100 && !existsSync(join(this.dir, 'run', 'master.pid')); i++) await sleep(50);
        return this;
    }

    async stop() {
        this.child.kill('SIGTERM');
        await this.ended;
    }

    // As a mail server would: a file that appears as a whole.
    deliver(mail) {
        const name = `${Date.now()}.${Math.random().toString(36).slice(2)}.here`;
        for (const part of ['tmp', 'new', 'cur']) mkdirSync(join(this.dir, 'mail', part), { recursive: true });
        writeFileSync(join(this.dir, 'mail/tmp', name), mail.replaceAll('\n', '\r\n'));
        execFileSync('chown', ['-R', NOBODY, join(this.dir, 'mail')]);
        execFileSync('mv', [join(this.dir, 'mail/tmp', name), join(this.dir, 'mail/new', name)]);
    }

    forgetUids() {
        for (const file of ['dovecot-uidlist', 'dovecot.index.log', 'dovecot.index', 'dovecot.index.cache', 'dovecot-uidvalidity']) rmSync(join(this.dir, 'mail', file), { force: true });
        execFileSync('sh', ['-c', `rm -f ${this.dir}/mail/dovecot-uidvalidity.*`]);
    }
}

// Takes mails; act on the next one: 'lose' the answer behind it, or a line that refuses.
export class Smtp {
    mails = [];
    async start() {
        this.server = createServer((socket) => {
            let buffer = '', data = false;
            const say = (line) => socket.write(`${line}\r\n`);
            socket.on('error', () => {});
            say('220 here');
            socket.on('data', (bytes) => {
                buffer += bytes.toString('latin1');
                for (;;) {
                    if (data) {
                        const end = buffer.indexOf('\r\n.\r\n');
                        if (end < 0) return;
                        const mail = buffer.slice(0, end).replaceAll('\r\n..', '\r\n.');
                        buffer = buffer.slice(end + 5);
                        data = false;
                        const { act } = this;
                        this.act = undefined;
                        if (act && act !== 'lose') { say(act); continue; }
                        this.mails.push({ mail: Buffer.from(mail, 'latin1').toString('utf8'), to: this.to });
                        if (act === 'lose') return void socket.destroy();
                        say('250 kept');
                        continue;
                    }
                    const end = buffer.indexOf('\r\n');
                    if (end < 0) return;
                    const line = buffer.slice(0, end);
                    buffer = buffer.slice(end + 2);
                    const verb = line.slice(0, 4).toUpperCase();
                    if (verb === 'RCPT') this.to = /<(.*)>/.exec(line)[1];
                    if (verb === 'DATA') { data = true; say('354 go on'); } else if (verb === 'QUIT') { say('221 bye'); socket.end(); } else say('250 fine');
                }
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `smtp://127.0.0.1:${this.server.address().port}`;
        return this;
    }

    to(address) { return this.mails.filter((one) => one.to === address); }
}

// Delivers whatever it gets into a maildir.
export class OpenSmtpd {
    async start() {
        this.dir = mkdtempSync('/tmp/ethos-smtpd-');
        this.port = await freePort();
        this.url = `smtp://127.0.0.1:${this.port}`;
        mkdirSync(join(this.dir, 'out'));
        execFileSync('chmod', ['755', this.dir]);
        execFileSync('chown', [NOBODY, join(this.dir, 'out')]);
        writeFileSync(join(this.dir, 'conf'), `table everybody { "@" = "nobody" }
listen on 127.0.0.1 port ${this.port}
action "keep" maildir "${this.dir}/out" virtual <everybody>
match from any for any action "keep"
`);
        this.child = spawn(SMTPD, ['-d', '-f', join(this.dir, 'conf')], { stdio: 'ignore' });
        process.once('exit', () => this.child.kill('SIGTERM'));
        this.ended = new Promise((resolve) => this.child.once('exit', resolve));
        for (let i = 0; i < 100 && !await this.answers(); i++) await sleep(100);
        return this;
    }

    answers() {
        return fetch(this.url.replace('smtp', 'http'), { signal: AbortSignal.timeout(500) }).then(() => true, (error) => error.cause?.code !== 'ECONNREFUSED');
    }

    // Every mail as {to, mail}.
    get mails() {
        const folder = join(this.dir, 'out', 'new');
        return existsSync(folder) ? readdirSync(folder).map((name) => { const mail = readFileSync(join(folder, name), 'utf8'); return { mail, to: /^To: (.*?)\r?$/m.exec(mail)?.[1] }; }) : [];
    }

    async stop() {
        this.child.kill('SIGTERM');
        await this.ended;
        rmSync(this.dir, { recursive: true, force: true });
    }
}
