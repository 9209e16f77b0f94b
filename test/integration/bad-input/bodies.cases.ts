/** Bodies of a create that cannot be read, and those with forbidden content. */
import { type BadInput, type Bytes, create, createHead, join, wanting, withEnv } from './wire.ts'

const json = 'Content-Type: application/json'
const bytes = (...values: number[]) => Buffer.from(values)
const good = { image_type: 'recommended', size: 'small' }

const malformed = (what: string, body: Bytes): BadInput => ({
  what,
  send: create(body),
  status: 400,
  type: 'malformed',
})

export const notJson: BadInput[] = [
  malformed('an empty body', ''),
  malformed('half an object', '{"options": {'),
  malformed('two objects', '{"options": {}}{"options": {}}'),
  malformed('a comma too many', '{"options": {},}'),
  malformed('single quotes', "{'options': {}}"),
  malformed('a comment', '{"options": {}} // and more'),
  malformed('NaN', '{"options": {"size": NaN}}'),
  malformed('a number with leading zeros', '{"options": {"size": 007}}'),
  malformed('a newline within a string', '{"options": {"size": "a\nb"}}'),
  malformed('an escape that is none', '{"options": {"size": "\\x41"}}'),
  malformed('a byte order mark', '\ufeff{"options": {}}'),
  malformed('UTF-16, little end first', Buffer.from('\ufeff{"options": {}}', 'utf16le')),
  malformed('UTF-16, big end first', Buffer.from('{"options": {}}', 'utf16le').swap16()),
  malformed('a byte that is no UTF-8', join('{"options": {"size": "', bytes(0xff), '"}}')),
  malformed('Latin-1', join('{"options": {"size": "', bytes(0xe9), '"}}')),
  malformed('an overlong form of a slash', join('{"options": {"size": "', bytes(0xc0, 0xaf), '"}}')),
  malformed('half a surrogate pair in UTF-8', join('{"options": {"size": "', bytes(0xed, 0xa0, 0x80), '"}}')),
  malformed('a character beyond Unicode', join('{"options": {"size": "', bytes(0xf4, 0x90, 0x80, 0x80), '"}}')),
  malformed('zeros', Buffer.alloc(100)),
  malformed('gzip that does not say so', bytes(0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3)),
  malformed('a form', 'options=%7B%7D'),
]

const type = (what: string, ...headers: Bytes[]): BadInput => ({
  what,
  send: create('{"options": {}}', ...headers),
  status: 415,
  type: 'not_json',
})

export const otherTypes: BadInput[] = [
  type('no content type', 'X-Nothing: x'),
  type('a form’s content type', 'Content-Type: application/x-www-form-urlencoded'),
  type('multipart', 'Content-Type: multipart/form-data; boundary=x'),
  type('plain text', 'Content-Type: text/plain'),
  type('XML', 'Content-Type: application/xml'),
  type('a type that JSON is only the form of', 'Content-Type: application/problem+json'),
  type('two content types in one', 'Content-Type: application/json, text/plain'),
  type('a content type that only begins well', 'Content-Type: application/jsonp'),
  type('UTF-16 by its content type', 'Content-Type: application/json; charset=utf-16'),
  type('a compressed body', json, 'Content-Encoding: gzip'),
  type('a body compressed twice', json, 'Content-Encoding: identity, br'),
]

const unfit = (what: string, body: string, kind?: string): BadInput => ({
  what,
  send: create(body),
  status: 422,
  ...(kind !== undefined && { type: kind }),
})

export const structures: BadInput[] = [
  unfit('null', 'null'),
  unfit('true', 'true'),
  unfit('a number', '17'),
  unfit('a string', '"options"'),
  unfit('a list', '[]'),
  unfit('a list of a body', '[{"options": {}}]'),
  unfit('no options', '{"env": {}}', 'missing'),
  unfit('options of null', '{"options": null}'),
  unfit('options as a list', '{"options": []}'),
  unfit('an unknown key', '{"options": {}, "image": "x"}', 'unknown_key'),
  unfit('a key twice', '{"options": {}, "env": {}, "options": {"size": "small"}}', 'duplicate_key'),
  unfit('an option twice', '{"options": {"size": "small", "size": "large"}}', 'duplicate_key'),
  unfit('an option twice, once escaped', '{"options": {"size": "small", "\\u0073ize": "large"}}', 'duplicate_key'),
  unfit('a variable twice', '{"options": {"image_type": "recommended"}, "env": {"A": "1", "A": "2"}}', 'duplicate_key'),
  unfit('a prototype', '{"options": {}, "__proto__": {"options": {}}}', 'unknown_key'),
  unfit('a prototype for the options', '{"options": {"__proto__": {"size": "small"}}}', 'unknown_key'),
  unfit('a prototype twice', '{"options": {}, "__proto__": {}, "__proto__": {}}', 'duplicate_key'),
  unfit('a prototype in env', '{"options": {"image_type": "recommended"}, "env": {"__proto__": "x"}}'),
  unfit('a prototype as env', '{"options": {"image_type": "recommended"}, "env": {"__proto__": {"A": "x"}}}'),
  unfit('a constructor', '{"options": {}, "constructor": {"prototype": {"admin": true}}}', 'unknown_key'),
  unfit('an option named like a method', '{"options": {"toString": "x", "hasOwnProperty": "y"}}', 'unknown_key'),
  unfit('lists without end', `{"options": {"_xsrf": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}`, 'too_deep'),
  unfit('objects without end', `${'{"options": '.repeat(20_000)}1${'}'.repeat(20_000)}`, 'too_deep'),
  unfit('half a surrogate pair, escaped', '{"options": {"size": "\\ud800"}}'),
]

const option = (what: string, options: object): BadInput => ({
  what,
  send: wanting({ ...good, ...options }),
  status: 422,
})

export const options: BadInput[] = [
  option('an unknown option', { colour: 'blue' }),
  option('an empty list', { size: [] }),
  option('a list of two', { size: ['small', 'large'] }),
  option('a list of a list', { size: [['small']] }),
  option('a list of an object', { size: [{}] }),
  option('null for an option', { size: null }),
  option('a number for an option', { size: 1 }),
  option('an object for an option', { size: { small: true } }),
  option('a boolean for a text', { size: true }),
  option('a number for a boolean', { enable_debug: 1 }),
  option('a word for a boolean', { enable_debug: 'yes' }),
  option('a boolean with spaces', { enable_debug: ' true' }),
  option('a size that does not exist', { size: 'enormous' }),
  option('a size named like a method', { size: 'constructor' }),
  option('a size named like a prototype', { size: '__proto__' }),
  option('an empty size', { size: '' }),
  option('an option without end', { size: 's'.repeat(100_000) }),
  option('a type of images that does not exist', { image_type: 'newest' }),
  option('an empty tag', { image_tag: '' }),
  option('a tag that climbs', { image_tag: '../../other' }),
  option('a tag with a registry', { image_tag: 'evil.example:5000/x:y' }),
  option('a tag with a digest', { image_tag: `w_1@sha256:${'0'.repeat(64)}` }),
  option('a tag with a newline', { image_tag: 'w_1\n' }),
  option('a tag with NUL', { image_tag: 'w_1\0' }),
  option('a tag for a shell', { image_tag: '$(id)' }),
  option('a tag that turns the direction of writing', { image_tag: 'w_1\u202e' }),
  { what: 'no image at all', send: wanting({ size: 'small' }), status: 422 },
  { what: 'another repository', send: wanting({ image_list: 'evil.example/lab:w_1' }), status: 422 },
  { what: 'an image on the Internet', send: wanting({ image_list: 'https://evil.example/lab:w_1' }), status: 422 },
  { what: 'an image without end', send: wanting({ image_dropdown: 'x/'.repeat(50_000) }), status: 422 },
]

const env = (what: string, value: unknown): BadInput => ({ what, send: withEnv(value), status: 422 })
const many = Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`V${i}`, '']))
const large = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`V${i}`, 'x'.repeat(30_000)]))

export const environments: BadInput[] = [
  env('env of null', null),
  env('env as a list', ['A=1']),
  env('env as a text', 'A=1'),
  env('a number in env', { A: 1 }),
  env('null in env', { A: null }),
  env('an object in env', { A: {} }),
  env('a variable without a name', { '': 'x' }),
  env('a name that begins with a digit', { '1A': 'x' }),
  env('a name with an equals sign', { 'A=B': 'x' }),
  env('a name with a space', { 'A B': 'x' }),
  env('a name with a newline', { 'A\n': 'x' }),
  env('a name that is not ASCII', { Ä: 'x' }),
  env('a name with a character that is not seen', { 'A\u200b': 'x' }),
  env('a name without end', { [`A${'B'.repeat(256)}`]: 'x' }),
  env('NUL in a value', { A: 'a\0b' }),
  env('half a surrogate pair in a value', { A: '\ud800' }),
  env('a value without end', { A: 'x'.repeat(32_769) }),
  env('too many variables', many),
  env('variables that are too much together', large),
  env('a service prefix that is an address', { JUPYTERHUB_SERVICE_PREFIX: 'http://evil.example/' }),
  env('a service prefix with a newline', { JUPYTERHUB_SERVICE_PREFIX: '/a\nb/' }),
]

const maxBody = 327_680

export const sizes: BadInput[] = [
  { what: 'a body over the bound', send: withEnv({ A: 'x'.repeat(maxBody) }), status: 413, type: 'too_large' },
  {
    what: 'a body over the bound in chunks',
    send: sender =>
      join(
        createHead(sender, json, 'Transfer-Encoding: chunked'),
        ...Array.from({ length: 17 }, () => `10000\r\n${' '.repeat(65_536)}\r\n`),
      ),
    status: 413,
    type: 'too_large',
  },
  {
    what: 'a length of terabytes, of which nothing comes',
    send: sender => createHead(sender, json, 'Content-Length: 9999999999999'),
    status: 413,
    type: 'too_large',
  },
  {
    what: 'a length beyond all numbers',
    send: sender => createHead(sender, json, `Content-Length: ${'9'.repeat(40)}`),
    status: 400,
  },
  {
    what: 'less than was announced',
    send: sender => join(createHead(sender, json, 'Content-Length: 100'), '{"options": {}}'),
    ends: true,
    status: 400,
  },
]
