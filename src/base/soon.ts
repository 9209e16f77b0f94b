/**
 * Values that are there, or come: what mostly is known answers at once. A promise would cost each caller memory and turns, also
 * where nothing was to be waited for. A value must not be a promise itself. Pure.
 */

export type Soon<T> = T | Promise<T>

/** Goes on with a value: at once where it is there. An error of `next` is thrown, or rejects. */
export function andThen<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All of them, in their order. */
export function all<T>(values: readonly Soon<T>[]): Soon<readonly T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}

/** The value of some work; where it fails, now or later, what `failed` makes of the error. */
export function caught<T>(work: () => Soon<T>, failed: (error: unknown) => T): Soon<T> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (error) {
    return failed(error)
  }
}
