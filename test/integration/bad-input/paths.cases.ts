/** Paths that another parser would read differently, and names that no user has. */
import { type BadInput, head, prefix } from './wire.ts'

const asked = (what: string, status: number, target: string): BadInput => ({
  what,
  send: ({ adminToken }) => head(`GET ${target}`, adminToken),
  status,
})
const below = (what: string, status: number, rest: string): BadInput => asked(what, status, `${prefix}/${rest}`)

export const paths: BadInput[] = [
  below('dots that lead to another route', 400, 'user-status/../labs'),
  below('dots that lead out', 400, '../../../metrics'),
  below('one dot', 400, './labs'),
  below('a dot at the end', 400, 'labs/.'),
  below('two dots for a name', 400, 'labs/..'),
  below('encoded dots', 400, 'user-status/%2e%2e/labs'),
  below('half-encoded dots', 400, 'user-status/.%2E/labs'),
  below('dots before a query', 400, 'labs/..?x'),
  below('dots encoded twice, which are a name', 404, 'labs/%252e%252e'),
  below('an encoded slash in a name', 422, 'labs/a%2Fb'),
  below('an encoded backslash in a name', 404, 'labs/a%5Cb'),
  below('a backslash', 400, 'labs\\admin'),
  below('an overlong slash', 400, 'labs/a%c0%afb'),
  below('a percent-encoding that is none', 400, 'labs/%zz'),
  below('half a percent-encoding', 400, 'labs/a%4'),
  below('a percent-encoding as in scripts', 400, 'labs/%u0041'),
  below('a percent-encoding of Latin-1', 400, 'labs/%e9'),
  below('a percent-encoding of half a surrogate pair', 400, 'labs/%ED%A0%80'),
  below('bytes that are not encoded', 400, 'labs/\u00c3\u00a9'),
  below('a quote that is not encoded', 400, 'labs/"'),
  below('a fragment', 400, 'labs#admin'),
  below('a fixed part that is encoded', 404, '%6Cabs'),
  asked('slashes of fixed parts that are encoded', 404, '/nublado%2Fspawner%2Fv1%2Flabs'),
  asked('two slashes', 404, `/${prefix}/labs`),
  below('two slashes within', 404, '/labs'),
  below('a slash at the end', 404, 'labs/'),
  below('another case', 404, 'LABS'),
  below('a route that does not exist', 404, 'laboratories'),
  below('a part too many', 404, 'labs/admin/create/now'),
  asked('nothing but the prefix', 404, prefix),
  ...['/metrics', '/healthz', '/readyz'].map(path => asked(`${path}, which has another port`, 404, path)),
  asked('a path without end', 414, `${prefix}/labs/${'x'.repeat(5000)}`),
  asked('a query without end', 414, `${prefix}/labs?${'x'.repeat(5000)}`),
  asked('no path', 400, 'labs'),
  asked('an address of another protocol', 400, 'ftp://skylab/labs'),
  asked('an address whose path has dots', 400, `http://skylab${prefix}/user-status/../labs`),
  below('a query that says who one is', 404, 'labs/nobody?username=admin&username=ada&__proto__=x'),
  below('a query that is not encoded well', 404, 'labs/nobody?%zz=%c0%af'),
]

const named = (what: string, name: string, status = 422): BadInput =>
  below(`a name ${what}`, status, `labs/${encodeURIComponent(name)}`)

export const names: BadInput[] = [
  named('with NUL', 'ada\0'),
  named('with a newline', 'ada\nroot:x:0:0'),
  named('with a tab', 'ada\tb'),
  named('with a control character of another century', 'ada\u0085'),
  named('with a line separator', 'ada\u2028b'),
  named('with a colon', 'ada:x'),
  named('with a slash', 'ada/../root'),
  named('that turns the direction of writing', 'ada\u202egnp'),
  named('that isolates the direction of writing', '\u2067ada\u2069'),
  named('with a space of no width', 'a\u200bda'),
  named('with a joiner of no width', 'a\u200dda'),
  named('with a byte order mark', '\ufeffada'),
  named('with a soft hyphen', 'a\u00adda'),
  named('with letters of tags', 'ada\u{e0041}'),
  named('that is too long for a folder', 'a'.repeat(256)),
  named('that is too long for a folder in UTF-8', '雪'.repeat(86)),
  named('like a prototype, which nobody has', '__proto__', 404),
  named('like a method, which nobody has', 'constructor', 404),
  named('with wildcards, which nobody has', '*', 404),
]
