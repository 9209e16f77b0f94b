/**
 * Places at which a test can interfere: `await failpoint('lab.create.pod.after-act')`. By default they do nothing. A
 * module that only tests load fills them through `setFailpoint`, so the product has no switch that breaks things.
 */
/** `user`: the user of the operation; absent if there is none. */
export type Failpoint = (name: string, user?: string) => void | Promise<void>

let effect: Failpoint | undefined

/** Only the tests' module calls this. */
export function setFailpoint(next: Failpoint | undefined): void {
  effect = next
}

export function failpoint(name: string, user?: string): void | Promise<void> {
  return effect?.(name, user)
}
