/** dispatch V1: runs of one container never overlap, whatever becomes of its owner, its machine and Redis. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { Site, until } from './shared.ts'

/** An owner is stopped between its last check and the socket. Another one starts the run, or ends the container meanwhile. */
async function stopBeforeSend(trial: Trial, isCancelled: boolean): Promise<void> {
  // Else it would stop itself as it wakes: the machine alone refuses it.
  const site = await Site.start(trial, { control: 'no-self-stop' })
  const { fleet } = site
  const stop = fleet.failpoints.arm('instance.create.serve.before-send', 'stop')
  const uuid = await site.submit({ as: isCancelled ? 'Cancelled' : 'Complete' })
  trial.injected()
  const { pid } = await stop.landed()
  if (isCancelled) {
    await fleet.containers.change(uuid, undefined, { cancel: 'its owner wants so' })
    await until(() => site.stateOf(uuid)).toBe('Cancelled')
  } else {
    await site.begun(uuid)
    // Only the epoch refuses a start of a run that has not ended.
    await site.running(uuid)
  }
  process.kill(pid, 'SIGCONT')
  await until(() => site.metric('skylab_dispatch_stale_refused_total')).toBeGreaterThan(0)
  trial.landed()
  if (isCancelled && site.witness.begins(uuid).length > 0) trial.violation(`V1 began after its end: ${uuid}`)
  await site.judge()
}

attack('dispatch V1 stopped before the start', trial => stopBeforeSend(trial, false), { concurrent: true })
attack('dispatch V1 stopped before the start, cancelled meanwhile', trial => stopBeforeSend(trial, true), {
  concurrent: true,
})
