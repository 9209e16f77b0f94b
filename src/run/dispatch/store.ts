/** Joins the access to Redis of a process that serves dispatch: machines as a kind of subjects, containers, the scheduler's reads. */
import { rulesOf } from '../../dispatch/configured.ts'
import type { MachineShape } from '../../machines/shape.ts'
import { Bell } from '../../store/bell.ts'
import { Compares } from '../../store/compares.ts'
import { ContainerStore } from '../../store/dispatch/containers.ts'
import { EndedStore } from '../../store/dispatch/ended.ts'
import { KeepingStore } from '../../store/dispatch/keeping.ts'
import { MachineStore } from '../../store/dispatch/machines.ts'
import { SchedulingStore } from '../../store/dispatch/scheduling.ts'
import { machineKind } from '../../store/dispatch-keys.ts'
import { Keys } from '../../store/keys.ts'
import { OperationStore } from '../../store/operations.ts'
import { parseOperation } from '../../store/records.ts'
import { Sealer } from '../../store/sealing.ts'
import { StreamReader } from '../../store/streams.ts'
import type { Basics } from '../basics.ts'
import { connect } from '../connect.ts'
import { commonOf, ownersOf, type StoreHooks } from '../store.ts'
import { longestCallMs } from './cloud.ts'

/** Reads and writes the records of machines; what else is known of them is in their briefs. */
export const machineForm = { parse: parseOperation, names: {} }

export type DispatchStore = ReturnType<typeof joinDispatchStore>

export function joinDispatchStore(basics: Basics, hooks: StoreHooks) {
  const { settings, config, clock, log } = basics
  const { clusterId, active, ended } = config.dispatch!
  const { maxDispatchAttempts, maxContainersPerMachine } = rulesOf(config.dispatch!)
  const endedLimits = { ...ended, keepMs: ended.keepSeconds * 1000 }
  const connection = connect(basics)
  const keys = new Keys(config.redis.keyPrefix)
  const sealer = new Sealer(settings.sealingKeys)
  const common = commonOf(basics, hooks, { connection, keys, sealer })
  const { sealing } = common
  const form = machineForm
  const limits = { longestRequestMs: longestCallMs }
  const access = {
    operations: new OperationStore({ ...common, family: keys.family(machineKind), form }),
    ...ownersOf<MachineShape>(basics, common, { name: machineKind, form, drawsEpochs: true, limits }),
  }
  const bell = new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed'))
  const { idempotencyMs } = common.retention
  return {
    ...{ connection, keys, sealer, sealing, access, bell },
    leases: access.leases,
    containers: new ContainerStore({
      ...{ connection, keys, sealing, clusterId, idempotencyMs, activeBytes: active.bytes },
      ...hooks,
    }),
    machines: new MachineStore({ connection, keys, sealing }),
    ended: new EndedStore(connection, keys, endedLimits),
    keeping: new KeepingStore({ connection, keys, maxDispatchAttempts, maxContainersPerMachine }),
    scheduling: new SchedulingStore(connection, keys),
    compares: new Compares(connection, { ...keys.dispatch, last: keys.last, bell: keys.bell }),
    streams: new StreamReader(bell, clock),
  }
}
