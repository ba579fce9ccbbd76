// schema.mjs: whether a value is what a JSON Schema says: the part of it that /openapi.json uses.
//
//     problems(schema, value, root): a list of sentences; empty when it is
const typeOf = (value) =>
    value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

const KNOWN = new Set(['$ref', 'type', 'properties', 'required', 'items', 'enum', 'anyOf', 'allOf', 'additionalProperties', 'description', 'minimum', 'maximum', 'examples']);

function resolve(root, ref) {
    let value = root;
    for (const part of ref.replace(/^#\//, '').split('/')) value = value?.[part];
    if (!value) throw new Error(`${ref} leads nowhere`);
    return value;
}

export function problems(schema, value, root, path = '$') {
    for (const word of Object.keys(schema)) if (!KNOWN.has(word)) throw new Error(`${path}: this test does not know ${word}`);
    if (schema.$ref) return problems(resolve(root, schema.$ref), value, root, path);
    if (schema.anyOf) {
        const tried = schema.anyOf.map((one) => problems(one, value, root, path));
        return tried.some((one) => one.length === 0) ? [] : tried.flat();
    }
    if (schema.allOf) return schema.allOf.flatMap((one) => problems(one, value, root, path));
    const found = [];
    const type = typeOf(value);
    const types = schema.type === undefined ? null : [schema.type].flat();
    if (types && !types.includes(type) && !(type === 'integer' && types.includes('number'))) return [`${path}: ${type}, not ${types.join(' or ')}`];
    if (schema.enum && !schema.enum.includes(value)) found.push(`${path}: ${JSON.stringify(value)} is none of ${schema.enum.join(', ')}`);
    if (type === 'array' && schema.items) value.forEach((item, i) => found.push(...problems(schema.items, item, root, `${path}[${i}]`)));
    if (type !== 'object') return found;
    for (const name of schema.required ?? []) if (!(name in value)) found.push(`${path}: no ${name}`);
    for (const [name, member] of Object.entries(value)) {
        const own = schema.properties?.[name] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null);
        if (own) found.push(...problems(own, member, root, `${path}.${name}`));
    }
    return found;
}
