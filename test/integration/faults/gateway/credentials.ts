/** What passes: no credential of the platform to an app, and nothing of an app that holds beyond its own path. */
import { attack } from '../../../kit/attack/attack.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { cookieIn, statusOf } from '../../../kit/gateway/site.ts'
import { answering } from '../../../kit/gateway/wires.ts'
import { sharedSite } from './shared.ts'

/** Each by the words that an app must not see. */
const toApp: readonly (readonly [header: string, secret: string])[] = [
  ['Authorization: Bearer ada-token', 'ada-token'],
  ['X-Forwarded-User: root', 'root'],
  ['X_Forwarded_User: root', 'root'],
  ['X-Forwarded_User: root', 'root'],
  ['X-Auth-Request-User: root', 'root'],
  ['X-Skylab-Ingress-Secret: hush', 'hush'],
  ['X-Original-URL: /admin', '/admin'],
  ['Forwarded: for=1.2.3.4', '1.2.3.4'],
  ['X-Real-IP: 1.2.3.4', '1.2.3.4'],
  ['Remote-User: root', 'root'],
  ['Connection: cookie, x-forwarded-host', 'connection: cookie'],
]

/** Each by the words that a visitor must not get. */
const fromApp: readonly (readonly [header: string, word: RegExp])[] = [
  ['Set-Cookie: __Host-Http-skylab-login=its.own; Secure; Path=/', /skylab-login=its\.own/],
  ['Set-Cookie: phapplication-session-id=its.own; Path=/', /session-id=its\.own/],
  ['Set-Cookie: a=b; Domain=example.org', /Domain/i],
  ['Set-Cookie: a=b; Path=/console/apps/other', /apps\/other/],
  ['X-Accel-Redirect: /internal/secret', /X-Accel/i],
  ['X-Sendfile: /etc/passwd', /X-Sendfile/i],
  ['Service-Worker-Allowed: /', /Service-Worker/i],
  ['Clear-Site-Data: "cookies"', /Clear-Site/i],
  ['Strict-Transport-Security: max-age=0', /Strict-Transport/i],
  ['Alt-Svc: h3=":443"', /Alt-Svc/i],
]

attack('gateway G3 no credential of the platform reaches an app', async trial => {
  const site = await sharedSite()
  const app = await site.app('leaks', echo)
  const cookie = await site.login('ada')
  const entered = cookieIn(
    await site.ask('GET /console/apps/leaks/', [`Cookie: ${cookie}`]),
    'phapplication-session-id',
  )
  for (const [header, secret] of toApp) {
    trial.injected()
    const from = app.text.length
    const answer = await site.ask('GET /console/apps/leaks/a', [`Cookie: own=1; ${cookie}; ${entered}`, header])
    const seen = app.text.slice(from)
    if (statusOf(answer) === 200 && seen.startsWith('GET /console/apps/leaks/a ')) trial.landed()
    for (const word of [secret, cookie, entered]) {
      if (seen.toLowerCase().includes(word.toLowerCase())) trial.violation(`${header}: an app saw ${word.slice(0, 30)}`)
    }
  }
})

attack('gateway G3 no cookie or word of an app holds beyond its path', async trial => {
  const site = await sharedSite()
  const cookie = await site.login('ada')
  for (const [index, [header, word]] of fromApp.entries()) {
    const id = `hostile-${index}`
    await site.app(id, answering(`HTTP/1.1 200 OK\r\n${header}\r\nX-Own: 1\r\nContent-Length: 0\r\n\r\n`))
    trial.injected()
    const answer = await site.ask(`GET /console/apps/${id}/`, [`Cookie: ${cookie}`])
    if (answer.includes('X-Own: 1')) trial.landed()
    if (word.test(answer)) trial.violation(`${header} reached a visitor`)
  }
})
