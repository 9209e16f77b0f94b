/** Checks whether overlapping answers are linearizable by a model of one user's lab. */

export type Asked = 'create' | 'delete' | 'cull' | 'status'

/** One request with its answer: for `status` the state, else the HTTP status; a cull has none. */
export interface Exchange {
  readonly asked: Asked
  readonly answer: string
  readonly sentMs: number
  readonly answeredMs: number
}

/** A lab's states. `!` marks a lab whose pod has succeeded, which no replica has noticed yet. */
type State = 'none' | 'pending' | 'pending!' | 'running' | 'running!' | 'terminating' | 'failed'

/** State changes that may happen at any moment without a request. */
const byItself: Readonly<Record<State, readonly State[]>> = {
  none: [],
  pending: ['running'],
  'pending!': ['running!', 'failed'],
  running: [],
  'running!': ['terminating'],
  terminating: ['none'],
  failed: [],
}

/** The answer in a state, and the state after it. */
function step(state: State, asked: Asked): readonly [answer: string, next: State] {
  const free = state === 'none' || state === 'failed'
  if (asked === 'create') return free ? ['303', 'pending'] : ['409', state]
  if (asked === 'delete') return state === 'none' ? ['404', state] : ['202', 'terminating']
  if (asked === 'status') return [state.replace('!', ''), state]
  return ['', state === 'pending' || state === 'running' ? `${state}!` : state]
}

const reachable = (state: State): State[] => [state, ...byItself[state].flatMap(reachable)]

/** Searches for an order that agrees with the answers and with their times: a request follows every earlier answer. */
export function isLinearizable(history: readonly Exchange[]): boolean {
  const seen = new Set<string>()
  const search = (left: readonly Exchange[], state: State): boolean => {
    if (left.length === 0) return true
    const key = `${state} ${left.map(each => history.indexOf(each)).join()}`
    if (seen.has(key)) return false
    seen.add(key)
    const firstAnswerMs = Math.min(...left.map(({ answeredMs }) => answeredMs))
    const mayBeNext = left.filter(({ sentMs }) => sentMs <= firstAnswerMs)
    return reachable(state).some(from =>
      mayBeNext.some(each => {
        const [answer, next] = step(from, each.asked)
        return (
          answer === each.answer &&
          search(
            left.filter(other => other !== each),
            next,
          )
        )
      }),
    )
  }
  return search(history, 'none')
}
