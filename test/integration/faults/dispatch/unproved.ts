/** dispatch V7: a machine that does not prove itself by its secret is sent nothing. */
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretFile } from '../../../../src/ssh/connect.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { Impostor } from '../../../kit/dispatch/impostor.ts'
import { testBed } from '../../../kit/testbed.ts'
import { attackInFull } from '../in-full.ts'
import { Site, until } from './shared.ts'

const question = `cat ${secretFile}`

/** The record names another address than the machine's, until the result is called. */
async function readdress({ fleet }: Site, name: string, address: string): Promise<() => Promise<void>> {
  const briefs = `{${fleet.name}}:instance-briefs`
  const set = async (to: string) => {
    const brief = JSON.parse((await fleet.client.hget(briefs, name))!)
    await fleet.client.hset(briefs, name, JSON.stringify({ ...brief, address: to }))
    return brief.address as string
  }
  const before = await set(address)
  return async () => void (await set(before))
}

attack(
  'dispatch V7 another machine at the address',
  async trial => {
    const site = await Site.start(trial)
    const { fleet, witness } = site
    const uuid = await site.submit()
    await site.running(uuid)
    const { name } = await site.machineOf(uuid)
    const impostor = new Impostor('0123456789abcdef0123456789abcdef01234567')
    trial.context.onTestFinished(() => impostor.close())
    const restore = await readdress(site, name, await impostor.listen())
    trial.injected()
    // Its heir connects anew.
    const keeper = (await fleet.keeper())!
    keeper.kill()
    await until(() => impostor.logins).toBeGreaterThan(1)
    trial.landed()
    const others = impostor.commands.filter(command => command !== question)
    for (const command of others) trial.violation(`V7 it was asked for: ${command.slice(0, 100)}`)
    if (impostor.bytes > 0) trial.violation(`V7 it was sent ${impostor.bytes} bytes`)
    trial.figure('questions', impostor.commands.length)
    await restore()
    // The same run, at the true machine.
    witness.letGo(uuid)
    await until(() => site.stateOf(uuid)).toBe('Complete')
    await site.judge()
  },
  { concurrent: true },
)

/** What was installed at a machine, or started there. */
const sentTo = ({ fleet }: Site, instance: string): readonly string[] => {
  const lib = fleet.cloud.pathOf(instance, 'lib')
  return existsSync(lib) ? readdirSync(lib) : []
}

/**
 * Its first machine has no secret at first, or another one.
 * @param spoil what that one does; `$1` is a folder of the test
 */
async function bootWith(trial: Trial, spoil: string, isLate: boolean): Promise<void> {
  const folder = mkdtempSync(join(testBed().stateDir, 'secrets-'))
  const init = `set -- ${folder}; if mkdir $1/first 2>/dev/null; then ${spoil}\nfi`
  const site = await Site.start(trial, {
    cloud: { TimeoutBooting: isLate ? '120s' : '30s', InstanceInitCommand: init },
  })
  trial.injected()
  const uuid = await site.submit()
  await until(async () => (await site.fleet.list()).some(({ instance }) => instance !== '')).toBe(true)
  const first = (await site.fleet.list())[0]!.instance
  const words = isLate ? 'has no secret, or not yet' : 'its secret is another'
  await until(() => site.fleet.log().includes(words)).toBe(true)
  trial.landed()
  for (const name of sentTo(site, first)) trial.violation(`V7 it was sent: ${name}`)
  if (isLate) writeFileSync(join(folder, 'late'), '')
  await site.begun(uuid)
  const { instance } = await site.machineOf(uuid)
  if ((instance === first) !== isLate) trial.violation(`V7 it began at ${instance}, and the first is ${first}`)
  await site.judge()
}

const wrong = `echo 0000 >${secretFile}`
const late = `mv ${secretFile} $1/secret
(until [ -e $1/late ]; do sleep 0.1; done; mv $1/secret ${secretFile}) >/dev/null 2>&1 </dev/null &`

attackInFull('dispatch V7 a wrong secret', trial => bootWith(trial, wrong, false), { concurrent: true })
attackInFull('dispatch V7 a secret that comes late', trial => bootWith(trial, late, true), { concurrent: true })
