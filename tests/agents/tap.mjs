// tap.mjs: what scripts here share: tests that are told as TAP, one after the other.
let number = 0;
let failed = false;

export async function test(name, body) {
    number++;
    try {
        await body();
        console.log(`ok ${number} - ${name}`);
    } catch (error) {
        failed = true;
        console.log(`not ok ${number} - ${name}`);
        console.log(String(error.stack ?? error).replace(/^/gm, '# '));
    }
}

export function must(holds, what) {
    if (!holds) throw new Error(what);
}

// Tells how many there were; the exit status is 0 when there were some and all went well.
export function finish() {
    console.log(`1..${number}`);
    process.exitCode = failed || number === 0 ? 1 : 0;
}
