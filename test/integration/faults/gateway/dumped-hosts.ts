/** G10 where apps have hosts of their own: a copy of Redis, made while a code is on its way, leads into no app. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { Marked, placesInLogs, placesInMetrics, placesInRedis, wordsInRedis } from '../../../kit/attack/marked.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { GatewaySite, statusOf } from '../../../kit/gateway/site.ts'
import { addressOf, appCookie, appDomain, hostOf, originOf, SplitBrowser } from '../../../kit/gateway/split-site.ts'
import { asId } from './dumped.ts'

const id = 'dumped'

attack(
  'gateway G10 a copy of Redis leads to no app at its host',
  async trial => {
    const site = await GatewaySite.start({ gateways: 2, config: { gateway: { appDomain } } })
    try {
      const app = await site.app(id, echo)
      const entered = await SplitBrowser.in(site, id, 'ada')
      const waiting = new SplitBrowser(site)
      await waiting.logIn('grace')
      const address = await waiting.code(id)
      const marked = credentialsOf([entered, waiting], address)
      const places = [
        ...(await placesInRedis(site.admin)),
        ...placesInLogs(site.stateDir),
        ...(await placesInMetrics(site.gateways)),
      ]
      for (const found of marked.foundAt(places)) trial.violation(found)
      const from = app.text.length
      await present(trial, site)
      if (app.text.length !== from) trial.violation('the app got a byte')
      await control(trial, waiting, address)
    } finally {
      await site.stop()
    }
  },
  { concurrent: true },
)

function credentialsOf(browsers: readonly SplitBrowser[], address: string): Marked {
  const marked = new Marked()
  marked.add('the code', new URL(address).searchParams.get('code')!)
  for (const [i, { cookies }] of browsers.entries()) {
    for (const [at, named] of cookies) {
      // The rest of the cookie of an app says of which login it is.
      for (const [name, value] of named) marked.add(`${name} of browser ${i} at ${at}`, value.split('.')[0]!)
    }
  }
  return marked
}

/** The code was good while Redis was copied: else what was tried proves nothing. */
async function control(trial: Trial, browser: SplitBrowser, address: string): Promise<void> {
  trial.injected()
  const steps = await browser.open(address)
  if (statusOf(steps.at(-1)!.answer) === 200) trial.landed()
}

/** Each word, as the cookie of an app and as a code, of somebody who has begun the way himself. */
async function present(trial: Trial, site: GatewaySite): Promise<void> {
  const all = await wordsInRedis(site.admin)
  const hashes = all.filter(word => /^[0-9a-f]{64}$/.test(word))
  const words = [...hashes, ...hashes.flatMap(asId)]
  const stranger = new SplitBrowser(site)
  await stranger.open(addressOf(id))
  const pairs = hashes.flatMap(first => hashes.map(second => `${asId(first)[0]}.${second}`))
  trial.figure('words', words.length)
  for (const [i, word] of [...words, ...pairs].entries()) {
    const from = `X-Forwarded-For: 203.0.113.${i % 250}`
    const headers = [from, `Cookie: ${appCookie}=${word}`]
    const asCookie = await site.ask(`GET /console/apps/${id}/`, headers, { gateway: i % 2, at: hostOf(id) })
    judge(trial, 'the cookie of an app', statusOf(asCookie) === 401 || statusOf(asCookie) === 403, asCookie)
  }
  for (const word of words) {
    const asCode = await stranger.get(`${originOf(id)}/console/enter?code=${word}`)
    judge(trial, 'a code', statusOf(asCode) >= 300 && statusOf(asCode) < 429, asCode)
  }
}

/** @param isRefused whether it was judged, and not put off */
function judge(trial: Trial, as: string, isRefused: boolean, answer: string): void {
  trial.injected()
  if (isRefused) trial.landed()
  if (statusOf(answer) === 200 || new RegExp(`^set-cookie: ${appCookie}=[^;]`, 'im').test(answer)) {
    trial.violation(`a word of Redis, as ${as}, leads to the app`)
  }
}
