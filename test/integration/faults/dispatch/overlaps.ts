/** dispatch V1: runs of one container never overlap, whatever becomes of its owner, its machine and Redis. */
import { readdirSync, readFileSync } from 'node:fs'
import { machineMark } from '../../../../src/clouds/loopback/processes.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { attackInFull } from '../in-full.ts'
import { Site, until } from './shared.ts'

/** Processes of a machine that its keepers speak to. */
function attachedTo(folder: string): readonly number[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8')
    } catch {
      return ''
    }
  }
  const isOne = (pid: string) =>
    read(pid, 'cmdline').endsWith('runner\0attach\0') && read(pid, 'environ').includes(`${machineMark}=${folder}`)
  return pids.filter(isOne).map(Number)
}

/** An owner is stopped between its last check and the socket. Another one starts the run, or ends the container meanwhile. */
async function stopBeforeSend(trial: Trial, isCancelled: boolean): Promise<void> {
  // Else it would stop itself as it wakes: the machine alone refuses it.
  const site = await Site.start(trial, { control: 'no-self-stop' })
  const { fleet } = site
  const stop = fleet.failpoints.arm('instance.create.serve.before-act', 'stop')
  const uuid = await site.submit({ as: isCancelled ? 'Cancelled' : 'Complete' })
  trial.injected()
  const { pid, replica, user } = await stop.landed()
  // A runner that was told of a new owner by its file would leave before it hears the former one: it sleeps until both speak.
  const attached = attachedTo(fleet.cloud.pathOf((await site.machineOf(uuid)).instance))
  for (const each of attached) process.kill(each, 'SIGSTOP')
  if (isCancelled) {
    await fleet.containers.change(uuid, undefined, { cancel: 'its owner wants so' })
    await until(() => site.stateOf(uuid)).toBe('Cancelled')
  } else {
    // Only the epoch refuses a start of a run that has not ended.
    await site.running(uuid)
  }
  process.kill(pid, 'SIGCONT')
  // It answers: by then the start is on its way.
  await site.metric(
    'skylab_dispatch_owned',
    fleet.replicas.findIndex(({ name }) => name === replica),
  )
  for (const each of attached) process.kill(each, 'SIGCONT')
  const gaveUp = () => site.logged(replica, user!).some(words => /no longer ours|handed over/.test(words))
  const began = isCancelled ? 0 : 1
  await until(() => gaveUp() || site.witness.begins(uuid).length > began).toBe(true)
  trial.landed()
  trial.figure('refused', await site.metric('skylab_dispatch_stale_refused_total'))
  if (site.witness.begins(uuid).length > began) trial.violation(`V1 began after its end: ${uuid}`)
  await site.judge()
}

attack('dispatch V1 stopped before the start', trial => stopBeforeSend(trial, false), { concurrent: true })
attackInFull('dispatch V1 stopped before the start, cancelled meanwhile', trial => stopBeforeSend(trial, true), {
  concurrent: true,
})
