/** Controls of the dispatch: what a machine's runner compares before it acts, and what the replicas do. */
import type { Control } from './control.ts'

export const controlsOfDispatch: readonly Control[] = [
  {
    // Any connection may act, whoever said hello meanwhile.
    name: 'runner-no-epoch',
    attacks: [{ name: 'dispatch V1 random', expected: /overlap|was not refused|began twice/ }],
    edits: [
      {
        file: 'src/runner/acts.ts',
        find: 'return epoch === this.#epoch && connection === this.#connection',
        replace: 'return this.#epoch > 0 && epoch > 0 && connection !== undefined',
      },
    ],
  },
  {
    // A machine takes any run of a container.
    name: 'runner-no-run',
    attacks: [{ name: 'dispatch V1 random', expected: /overlap|was not refused|began twice/ }],
    edits: [
      {
        file: 'src/runner/acts.ts',
        find: 'if (run < past.run || (run === past.run && past.begun))',
        replace: 'if (run < 0)',
      },
    ],
  },
  {
    // A machine that is to end has its container no more, whatever runs there.
    name: 'dispatch-unreachable-is-gone',
    attacks: [{ name: 'dispatch V1 cut off', expected: /V1 (overlap|began elsewhere)/ }],
    edits: [
      {
        file: 'src/store/commands/include/machines.lua',
        find: `  if not brief.container or is_sent(brief) then
    return
  end
  local container = container_of(brief.container.uuid)
`,
        replace: `  if not brief.container then
    return
  end
  local container = container_of(brief.container.uuid)
  if is_sent(brief) then
    redis.call('HDEL', keys.sent, container.uuid)
    container.machine, brief.container = '', nil
    return requeue(container, 'unreachable', {})
  end
`,
      },
    ],
  },
  {
    // Old data are used as they are: containers are assigned before all machines were asked.
    name: 'dispatch-no-hold',
    attacks: [{ name: 'dispatch V1 Redis went back', expected: /V1 |V12 restarted/ }],
    edits: [
      {
        file: 'src/store/commands/include/dispatch.lua',
        find: "return tonumber(op) <= tonumber(redis.call('GET', keys.found) or 0)",
        replace: 'return false',
      },
    ],
  },
  {
    // What is lost with its machine is not run again.
    name: 'dispatch-no-requeue',
    attacks: [{ name: 'dispatch V2 machine off', expected: /V2 .* is Cancelled/ }],
    edits: [
      {
        file: 'src/store/commands/include/containers.lua',
        find: 'if container.runs < container.most then',
        replace: 'if false then',
      },
    ],
  },
  {
    // Nobody looks for machines without a record.
    name: 'dispatch-no-sweep',
    attacks: [{ name: 'dispatch V3 V6', expected: /V3 leaked/ }],
    edits: [
      { file: 'src/pool/sweep.ts', find: 'for (const stray of strays) if', replace: 'for (const stray of []) if' },
    ],
  },
  {
    // A machine is ended first, and that is written afterwards.
    name: 'dispatch-ended-first',
    attacks: [{ name: 'dispatch V3 V6', expected: /V6 .* is ended without an intent/ }],
    edits: [
      {
        file: 'src/machines/keeper.ts',
        find: "if (brief.ending !== '') return",
        replace: "if (brief.instance !== '') return",
      },
      {
        file: 'src/machines/end.ts',
        find: "const kept = await context.keeping.keep({ state: 'shutdown', ending: brief.ending || 'its creation failed' })",
        replace: "const kept = { answer: 'kept', brief: { ending: 'a word' } }",
      },
    ],
  },
  {
    // The place of a creation is not written before the call.
    name: 'dispatch-place-unwritten',
    attacks: [{ name: 'dispatch V3 V6', expected: /V6 the intent/ }],
    edits: [
      {
        file: 'src/machines/create.ts',
        find: 'void (await context.keeping.keep({ place: next }))',
        replace: 'void next',
      },
    ],
  },
  {
    // Redis' data are used without a compare.
    name: 'dispatch-no-compare',
    attacks: [{ name: 'dispatch V12 Redis emptied at rest', expected: /V12 denied/ }],
    edits: [
      {
        file: 'src/store/commands/read-container.1.lua',
        find: 'if not compared(KEYS[1], ARGV[1]) then',
        replace: 'if false then',
      },
    ],
  },
  {
    // A machine's word moves the counter of runs, however far.
    name: 'dispatch-no-bound',
    attacks: [{ name: 'dispatch V14 a machine lies: tomorrow', expected: /V14 the counter of runs/ }],
    edits: [
      {
        file: 'src/store/commands/floor-epoch.1.lua',
        find: 'if ahead(tonumber(epoch)) then',
        replace: 'if false then',
      },
    ],
  },
  {
    // What a machine shows is believed without the seal.
    name: 'dispatch-no-seal',
    attacks: [{ name: 'dispatch V14 a machine lies: inventions', expected: /V14 |V12 |V1 / }],
    edits: [{ file: 'src/dispatch/warrant.ts', find: 'return isOurs ?', replace: 'return isOurs || true ?' }],
  },
]
