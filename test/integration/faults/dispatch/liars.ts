/** dispatch V14: a machine that lies changes nothing but the states of its own containers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { type Lie, writeLiar } from '../../../kit/dispatch/liar.ts'
import { programWithout } from '../../../kit/program/controlled.ts'
import { controlVariable } from '../../../kit/program/controls.ts'
import { Site, until } from './shared.ts'

const dayMs = 86_400_000

async function lieTo(trial: Trial, lie: Lie): Promise<void> {
  const { program } = await programWithout(process.env[controlVariable] ?? '')
  const runner = join(dirname(program), 'runner.cjs')
  const site = await Site.start(trial, { runner: stateDir => writeLiar(stateDir, runner, lie) })
  const { fleet } = site
  const diary = () => readFileSync(join(fleet.stateDir, 'diary'), 'utf8').split('\n')
  const honest = await site.submit()
  await site.running(honest)
  const { run } = (await site.found(honest))!
  writeFileSync(join(fleet.stateDir, 'victim'), JSON.stringify({ uuid: honest, run }))
  writeFileSync(join(fleet.stateDir, 'lying'), '')
  const uuid = await site.submit()
  trial.injected()
  await until(diary).toContain(lie === 'inventions' ? 'entries' : 'hello')
  trial.landed()
  // It is drained, and its container runs elsewhere.
  const last = async () => Number(await fleet.client.get(`{${fleet.name}}:dispatch-last`))
  const isAhead = async () => (await last()) > (Date.now() + dayMs) * 1000
  await until(async () => site.witness.begins(uuid).length > 0 || (await isAhead())).toBe(true)
  if (await isAhead()) trial.violation(`V14 the counter of runs is ${await last()}`)
  const { containers } = await fleet.containers.list({ limit: 100 })
  const all = containers.map(({ view }) => view.uuid).sort()
  if (all.join() !== [honest, uuid].sort().join()) trial.violation(`V14 there are containers ${all}`)
  if ((await site.stateOf(honest)) !== 'Running') trial.violation('V14 it ended a container of another machine')
  const printed = await fleet.output(honest)
  if (printed !== `${honest}\n`) trial.violation(`V14 it printed for another machine: ${printed}`)
  await site.judge()
}

for (const lie of ['epoch', 'tomorrow', 'inventions'] as const) {
  attack(`dispatch V14 a machine lies: ${lie}`, trial => lieTo(trial, lie), { concurrent: true })
}
