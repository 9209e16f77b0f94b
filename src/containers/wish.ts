/** A request for a container, and its parts: the shown view, the needs for the scheduler, and the spec that is run. Pure. */
import { mask } from '../base/secret-env.ts'
import type { ContainerView } from '../dispatch/container.ts'
import type { RunSpec } from '../dispatch/protocol.ts'
import type { Need } from '../dispatch/types.ts'

/** A body that was checked, with its defaults. */
export interface ContainerWish
  extends Pick<
    ContainerView,
    | 'command'
    | 'container_image'
    | 'environment'
    | 'cwd'
    | 'mounts'
    | 'runtime_constraints'
    | 'scheduling_parameters'
    | 'container_count_max'
  > {
  /** Values that are shown to nobody. */
  readonly secret_environment: Readonly<Record<string, string>>
  /** The tenant that it counts for, where its owner is in more than one. */
  readonly tenant?: string | undefined
  /** 0 to 1000; 0 waits, and is not scheduled. */
  readonly priority: number
}

export interface Prepared {
  readonly view: Omit<ContainerView, 'uuid'>
  readonly need: Need
  /** With the values of secrets. */
  readonly spec: RunSpec
}

/** @param isSecret whether a plain variable looks like a secret */
export function prepare(
  wish: ContainerWish,
  owner: string,
  isSecret: (name: string, value: string) => boolean,
): Prepared {
  const { command, container_image, environment, secret_environment, cwd, mounts } = wish
  const { runtime_constraints: constraints, scheduling_parameters: scheduling, container_count_max } = wish
  const shown = Object.entries(environment).map(([name, value]) => [name, isSecret(name, value) ? mask : value])
  const hidden = Object.keys(secret_environment).map(name => [name, mask])
  return {
    view: {
      ...{ owner, command, container_image, cwd, mounts },
      environment: Object.fromEntries([...shown, ...hidden]),
      ...{ runtime_constraints: constraints, scheduling_parameters: scheduling, container_count_max },
    },
    need: {
      ...{ vcpus: constraints.vcpus, ramBytes: constraints.ram, gpus: constraints.gpus },
      scratchBytes: Object.values(mounts).reduce((sum, { capacity }) => sum + capacity, 0),
      preemptible: scheduling.preemptible,
    },
    spec: {
      ...{ command, image: container_image, cwd, mounts },
      environment: { ...environment, ...secret_environment },
      ...{ vcpus: constraints.vcpus, ramBytes: constraints.ram, maxRunSeconds: scheduling.max_run_time },
    },
  }
}
