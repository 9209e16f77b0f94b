/** Makes each mistake of docs/mistakes.md, and checks its words in the log, at `/readyz`, and in the API. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import { startFleet, useFleet } from '../kit/fleet/fleet.ts'
import { type Servers, startServers } from './mistakes/bench.ts'
import { makers, secrets } from './mistakes/makers.ts'
import { dependencies, rows } from './mistakes/rows.ts'
import { type Line, WrongReplica } from './mistakes/wrong.ts'

const fleet = useFleet({ replicas: 1, tls: false })
let servers: Servers
beforeAll(async () => {
  servers = await startServers()
})
afterAll(() => servers?.stop())

/** Words of libraries, and advice that no operator can follow. */
const foreign = /writeable|enableOfflineQueue|use-system-ca|fetch failed|getaddrinfo|altnames:|SSL routines/

test.concurrent.for(rows)(
  'a replica names a mistake at once, and once: $dependency, $mistake',
  async (row, context) => {
    const { name, trouble, waits, answer } = dependencies[row.dependency]
    const wrong = makers[row.dependency][row.mistake]!(servers)
    const id = `wrong-${rows.indexOf(row)}`
    const replica = await WrongReplica.start(fleet(), id, row.dependency, wrong)
    context.onTestFinished(() => replica.stop())
    const { host = '' } = wrong
    const reason = pattern(row.reason.replace('WORDS', row.words).replaceAll('HOST', host))

    const readyz = new RegExp(`^${waits ? '503.* \\| waiting for' : '(200|503).* \\|'} ${name}: ${reason}( \\||$)`)
    await eventually('the reason at /readyz', async () => readyz.test(await replica.readyz()), 45_000)
    await eventually('the answer', async () => (await replica.answer()) === `${answer}${row.words}`, 30_000)

    const isNamed = ({ msg, reason: words = '' }: Line) => msg === trouble && new RegExp(`^${reason}$`).test(words)
    const named = () => replica.log().filter(isNamed)
    // A first failure of the Kubernetes API is shown at once, but logged only when another one follows.
    await eventually('the line of the log', async () => named().length > 0)
    expect(named()).toMatchObject([{ level: 'warn' }])
    const seen = [replica.text(), await replica.readyz(), await replica.answer()]
    for (const secret of secrets) expect(seen.join('\n')).not.toContain(secret)
    expect(replica.shown()).not.toMatch(foreign)
    if (host !== '') expect(await replica.answer()).not.toContain(host)
  },
)

const pattern = (words: string) => words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')

test.concurrent('a replica logs once that a mistake is put right', async context => {
  const cutOff = await startFleet(context, { replicas: 1, proxies: 'shut', ready: false, tls: false })
  const logged = async (msg: string) => (await cutOff.log(0)).split('\n').filter(line => line.includes(`"${msg}"`))
  const { redis, kubernetes } = cutOff.proxies(0)
  const both = [dependencies.Redis, dependencies['Kubernetes API']]
  for (const { trouble } of both) await eventually(trouble, async () => (await logged(trouble)).length > 0, 60_000)
  await Promise.all([redis.open(), kubernetes.open()])
  await cutOff.ready()
  for (const { trouble, over } of both) {
    expect(await logged(trouble)).toHaveLength(1)
    expect(await logged(over)).toHaveLength(1)
  }
})
