/** The story of the demo of containers: twelve of them, a keeper that is killed, a machine on hold and one that is drained. */
import { prefixes } from '../../src/api/dispatch/parts.ts'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import type { Replica } from '../stack/replicas.ts'
import { DispatchClient, type SeenContainer } from './client.ts'
import { isConnected } from './kernel.ts'
import { Patient } from './patient.ts'
import { type ContainerOutcome, containerCount, type DispatchReport, type Facts, type Orphan } from './report.ts'
import { type DispatchSite, machineTypes, mostMachines } from './site.ts'
import { type Heard, Visitor } from './visitor.ts'

/** Against hanging, not for speed. */
const limitMs = 120_000

export interface Stage {
  readonly site: DispatchSite
  readonly client: DispatchClient
  readonly tell: (text: string) => void
  readonly signal: AbortSignal
}

export interface Told {
  readonly facts: Facts
  readonly seconds: Omit<DispatchReport['seconds'], 'ready' | 'killed'>
}

interface Submitted {
  readonly uuid: string
  readonly asked: string
  readonly vcpus: number
}

export const until = (stage: Pick<Stage, 'signal'>, what: string, question: () => Promise<boolean>): Promise<void> =>
  waitUntil(question, { what, limitMs, signal: stage.signal })

const since = (begunMs: number) => roundSeconds(systemClock.monotonicMs() - begunMs)

export const makeStage = (site: DispatchSite, tell: Stage['tell'], signal: AbortSignal): Stage => ({
  ...{ site, tell, signal },
  client: new DispatchClient(site, signal),
})

export async function tellStory(stage: Stage): Promise<Told> {
  const { site, tell } = stage
  const patients = ['kept', 'held', 'drained'].map(name => new Patient(site.stateDir, name))
  introduce(stage)
  const begunMs = systemClock.monotonicMs()
  const submitted = await submitAll(stage, patients)
  const running = await untilRunning(stage, submitted.slice(0, patients.length), begunMs)
  const [kept, held, drained] = running.containers as [SeenContainer, SeenContainer, SeenContainer]
  const known = await begunOn(stage, held.instance, drained.instance)
  await manage(stage, held, drained)
  const { orphan, takeOver, inside } = await killKeeper(stage, kept, patients[0]!)
  tell('\nThe three get their word, and the queue goes on:')
  for (const patient of patients) patient.letGo()
  const containers = await untilComplete(stage, submitted)
  const allComplete = since(begunMs)
  tell(`All ${containers.length} are Complete after ${allComplete} s, each after one run:`)
  const [before, after] = patients[0]!.pids()
  tell(`  ${orphan.uuid} wrote its pid before and after: ${before} and ${after}, the same process`)
  const stayed = await untilEmpty(stage, held.instance)
  const empty = since(begunMs)
  tell(`\nAfter ${empty} s the cloud is empty but for ${stayed.join(' ')}, which is on hold.`)
  tell(`  ${drained.instance}, which was drained, ended after its container; the others when nothing was left for them`)
  const late = (await begunOn(stage, held.instance, drained.instance)).filter(uuid => !known.includes(uuid))
  const isSame = orphan.sameProcess && after !== undefined && before === after
  const facts = { containers, orphan: { ...orphan, sameProcess: isSame }, inside, late, stayed }
  return {
    facts: { ...facts, held: held.instance, drained: drained.instance },
    seconds: { firstContainer: running.first, takeOver, allComplete, empty },
  }
}

function introduce({ site, tell }: Stage): void {
  const types = Object.entries(machineTypes).map(
    ([name, { VCPUs, Price }]) => `${name} (VCPUs: ${VCPUs}, price: ${Price} an hour)`,
  )
  tell(`\nThe cloud is this host: each of its machines is a process with an SSH server of its own, made when it is needed.
It offers the types ${types.join(' and ')}; ${mostMachines} machines at once, at most.
${site.replicas.length} replicas of Skylab share a Redis, and nothing else: ${site.replicas.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}.`)
}

/** The first three wait for a word. Each third container is a large one. */
async function submitAll({ site, client, tell }: Stage, patients: readonly Patient[]): Promise<Submitted[]> {
  tell(
    `\nada queues ${containerCount} commands over REST, each at the next replica. Eight need 1 processor, four need 4:`,
  )
  const submitted: Submitted[] = []
  for (let i = 0; i < containerCount; i++) {
    const vcpus = i % 3 === 2 ? machineTypes.large.VCPUs : machineTypes.small.VCPUs
    const command = patients[i]?.command ?? ['sh', '-c', `sleep 0.3; echo "field ${i + 1} is done"`]
    const uuid = await client.submit({ command, vcpus }, i)
    submitted.push({ uuid, vcpus, asked: site.replicas[i % site.replicas.length]!.name })
  }
  tell(`  ${containerCount} times 201, from ${submitted[0]!.uuid} to ${submitted.at(-1)!.uuid}`)
  return submitted
}

async function untilRunning(stage: Stage, three: readonly Submitted[], begunMs: number) {
  const { client, tell } = stage
  const uuids = three.map(({ uuid }) => uuid)
  const read = async () => (await client.containers()).filter(({ uuid }) => uuids.includes(uuid))
  await until(stage, 'the first container', async () => (await read()).some(({ state }) => state === 'Running'))
  const first = since(begunMs)
  tell(`  the first one runs after ${first} s: its machine was made, reached by SSH, and got the runner`)
  await until(stage, 'three containers', async () => (await read()).every(({ state }) => state === 'Running'))
  const containers = await read()
  const sorted = uuids.map(uuid => containers.find(each => each.uuid === uuid)!)
  tell(`\nThe first three run until this demo says a word, so that there is time for what follows:`)
  for (const { uuid, instance, instance_type } of sorted) tell(`  ${uuid} runs on ${instance}, a ${instance_type} one`)
  return { containers: sorted, first }
}

async function manage({ client, tell }: Stage, held: SeenContainer, drained: SeenContainer): Promise<void> {
  tell(
    '\nAn operator puts the second machine on hold: it gets nothing new, and stays. The third one shall end after its work:',
  )
  tell(`  ${await client.manage('hold', held.instance)}`)
  tell(`  ${await client.manage('drain', drained.instance)}`)
}

/** Containers that began on one of these machines. */
async function begunOn({ client }: Stage, ...machines: readonly string[]): Promise<string[]> {
  const begun = (await client.containers()).filter(({ state }) => state !== 'Queued' && state !== 'Locked')
  return begun.filter(({ instance }) => machines.includes(instance)).map(({ uuid }) => uuid)
}

async function killKeeper(stage: Stage, kept: SeenContainer, patient: Patient) {
  const { site, client, tell } = stage
  const { address } = (await client.machines()).find(({ instance }) => instance === kept.instance)!
  const keeper = () => site.replicas.find(({ pid }) => isConnected(pid, address))
  await until(stage, `a keeper of ${kept.instance}`, async () => keeper() !== undefined && patient.identity() !== null)
  const killed = keeper()!
  const [before, killedPid] = [patient.identity(), killed.pid]
  const isKept = () => ![undefined, killedPid].includes(keeper()?.pid)
  const visit = await lookInside(stage, kept, patient, site.replicas.find(each => each !== killed)!)
  tell(
    `\nOne replica keeps each machine, by its one SSH connection. ${killed.name} keeps the first one, and is killed:`,
  )
  tell(`  kill -9 ${killedPid}`)
  const begunMs = systemClock.monotonicMs()
  killed.kill()
  await visit.again('meanwhile', () => (isKept() ? 'with another keeper' : 'while nobody keeps the machine'))
  const unkept = !isKept()
  await until(stage, `another keeper of ${kept.instance}`, async () => isKept())
  const takeOver = since(begunMs)
  const keptBy = keeper() ?? killed
  const sameProcess = before !== null && patient.identity() === before
  const who = keptBy === killed ? `${keptBy.name}, started again,` : keptBy.name
  tell(`  after ${takeOver} s ${who} keeps ${kept.instance}; the container goes on as pid ${patient.pids()[0]}`)
  await visit.again('afterwards', () => 'with another keeper')
  const orphan: Orphan = {
    ...{ uuid: kept.uuid, machine: kept.instance, killed: killed.name, keptBy: keptBy.name, sameProcess },
  }
  return { orphan, takeOver, inside: { ...visit.end(), unkept } }
}

/** Opens a shell in a container, and asks its port. Both are asked again later, with another word for the shell. */
async function lookInside(stage: Stage, { uuid }: SeenContainer, patient: Patient, at: Replica) {
  const { site, tell } = stage
  await until(stage, `the port of ${uuid}`, async () => patient.port() !== null)
  const port = patient.port()!
  const signal = AbortSignal.any([stage.signal, AbortSignal.timeout(limitMs)])
  const { program, stateDir } = site
  const visitor = new Visitor({ uuid, port, signal, program, stateDir, url: at.url, token: site.users.ada!.token })
  const heard = [await visitor.ask('before')]
  const [{ shell, http }] = heard as [Heard]
  tell(
    `\nada opens a shell in the first container, and asks its HTTP port, at ${at.name}, which does not keep its machine:`,
  )
  tell(`  the shell, by skylab shell ${uuid}, says "${shell}"`)
  tell(`  GET ${prefixes.user}/containers/${uuid}/ports/${port}/  is answered ${http}, the pid of its process`)
  return {
    again: async (word: string, when: () => string) => {
      const next = await visitor.ask(word)
      heard.push(next)
      tell(`  ${when()}, the same shell says "${next.shell}", and the port answers ${next.http}`)
    },
    end: () => {
      visitor.close()
      const run = shell.slice('before '.length)
      return {
        asked: at.name,
        shell: run.startsWith(`${uuid} `) && heard.every(each => each.shell.endsWith(` ${run}`)),
        port: heard.every(each => each.http === String(patient.pids()[0])),
      }
    },
  }
}

async function untilComplete(stage: Stage, submitted: readonly Submitted[]): Promise<ContainerOutcome[]> {
  const { client } = stage
  const isOver = ({ state }: SeenContainer) => state === 'Complete' || state === 'Cancelled'
  await until(stage, 'the end of all containers', async () => (await client.containers()).every(isOver))
  const containers = await client.containers()
  return submitted.flatMap(({ uuid, asked, vcpus }) => {
    const seen = containers.find(each => each.uuid === uuid)
    if (!seen) return []
    const { state, exit_code: exitCode, attempt: runs, instance: machine, instance_type: type } = seen
    return [{ ...{ uuid, asked, vcpus, type, machine }, ...{ state, exitCode, runs } }]
  })
}

async function untilEmpty(stage: Stage, held: string): Promise<string[]> {
  const { client, site } = stage
  await until(stage, 'an empty cloud', async () => (await client.machines()).every(({ instance }) => instance === held))
  // The cloud itself is asked too: a record that is gone proves nothing.
  const living = (await site.cloud.all()).filter(({ state }) => state !== 'gone')
  return living.map(({ id }) => id)
}
