/** Why containers wait. Those of one group wait for one reason, which is read once for an answer. */
import { canonical } from '../base/canonical.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { ContainerShown } from '../store/dispatch/forms.ts'

/** @returns finds what the scheduler says of the group of a container; '' if it said nothing yet, or the container does not wait */
export function waitsOf(store: Pick<ContainerStore, 'find'>): (container: ContainerShown) => Promise<string> {
  const sentences = new Map<string, Promise<string>>()
  return container => {
    const { state, priority, need, tenant, view } = container
    if (state !== 'Queued' || priority === 0) return Promise.resolve('')
    const group = canonical([need, tenant, view.scheduling_parameters.supervisor])
    const known = sentences.get(group) ?? store.find(view.uuid).then(found => found?.status ?? '')
    sentences.set(group, known)
    return known
  }
}
