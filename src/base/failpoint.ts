/**
 * Places where a test may strike: `await failpoint('lab.create.pod.after-act')`. Here they do nothing; a module that
 * only tests load fills them through `setFailpoint`, so no switch that breaks things lives in the product.
 */
/** `user`: whose operation passes; absent where it concerns no one user. */
export type Failpoint = (name: string, user?: string) => void | Promise<void>

let effect: Failpoint | undefined

/** Called by the tests' module alone. */
export function setFailpoint(next: Failpoint | undefined): void {
  effect = next
}

export function failpoint(name: string, user?: string): void | Promise<void> {
  return effect?.(name, user)
}
