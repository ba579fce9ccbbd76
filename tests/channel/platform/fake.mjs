// fake.mjs: what servers that stand for a platform share: waiting for a state, faults, an HTTP server on loopback.
import { createServer } from 'node:http';

export class Fake {
    calls = [];  // {method, args}
    faults = []; // see fault()
    watchers = new Set();

    // Resolves once test(this) is true, which is looked at whenever something happened.
    until(test, what = 'something', ms = 30000) {
        if (test(this)) return Promise.resolve(this);
        return new Promise((resolve, reject) => {
            const end = (settle) => { clearTimeout(timer); clearInterval(again); this.watchers.delete(look); settle(); };
            const look = () => { if (test(this)) end(() => resolve(this)); };
            const timer = setTimeout(() => end(() => reject(new Error(`${typeof what === 'function' ? what() : what} did not happen`))), ms);
            const again = setInterval(look, 200); // for what nothing here tells
            this.watchers.add(look);
        });
    }

    changed() {
        for (const look of [...this.watchers]) look();
    }

    // The next calls of a method meet with: 'cut' before they are carried out, 'lose' the answer after they were, 'hang', or
    // an answer {status, body, headers}; act may be a function of the arguments. Gives what takes it away.
    fault(method, act, { times = 1, when = () => true } = {}) {
        const fault = { method, act, times, when };
        this.faults.push(fault);
        return () => { this.faults = this.faults.filter((other) => other !== fault); };
    }

    takeFault(method, args) {
        const fault = this.faults.find((one) => one.method === method && one.when(args));
        if (!fault) return undefined;
        if (--fault.times <= 0) this.faults = this.faults.filter((other) => other !== fault);
        return typeof fault.act === 'function' ? fault.act(args, this) : fault.act;
    }

    // method: the name of the call; carryOut(): its answer {status, body, headers}, or a promise of it.
    async answer(response, method, args, carryOut) {
        this.calls.push({ method, args, at: Date.now() });
        const fault = this.takeFault(method, args);
        if (fault === 'hang') return;
        let answer = typeof fault === 'object' ? fault : undefined;
        if (fault === 'cut') return void response.destroy();
        answer ??= await carryOut();
        if (fault === 'lose') response.destroy();
        else response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers }).end(answer.body === undefined ? '' : JSON.stringify(answer.body));
        this.changed();
    }

    async listen(serve) {
        this.server = createServer((request, response) => { serve(request, response).catch((error) => response.writeHead(500).end(String(error.stack))); });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.origin = `http://127.0.0.1:${this.server.address().port}`;
    }

    close() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

export async function readBody(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return Buffer.concat(parts).toString('utf8');
}
