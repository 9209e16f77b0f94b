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
        find: 'local function spare_machine(brief)\n',
        replace: `local function spare_machine(brief)
  for _, uuid in ipairs(containers_of(brief, true)) do
    local container = container_of(uuid)
    redis.call('HDEL', keys.sent, uuid)
    container.machine, brief.containers[uuid] = '', nil
    requeue(container, 'unreachable', {})
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
        find: "const kept = await context.keeping.keep({ state: 'shutdown', ending: brief.ending || creationFailed })",
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
  {
    // Hold is compared by those who decide, and not by the script that writes.
    name: 'dispatch-hold-outside',
    attacks: [{ name: 'dispatch V5 hold against', expected: /V5 it ends although it is on hold/ }],
    edits: [
      {
        file: 'src/store/commands/write-decisions.3.lua',
        find: `  local brief = machine_at(name, version)
  if not brief then
    return 'changed'
  end
  if brief.idleBehavior == 'hold' then
    return 'held'
  end`,
        replace: `  local brief = machine_of(name)
  if not brief then
    return 'changed'
  end`,
      },
    ],
  },
  {
    // A machine is told all before it has proved itself.
    name: 'dispatch-unproved',
    attacks: [{ name: 'dispatch V7 another machine', expected: /V7 it was (asked for|sent)/ }],
    edits: [{ file: 'src/ssh/connect.ts', find: '    check(answer, options)\n', replace: '    void check\n' }],
  },
  {
    // A new owner ends what runs, so that it can start it itself.
    name: 'dispatch-takeover-kills',
    attacks: [{ name: 'dispatch V8 goes on', expected: /V8 after .* was interrupted|Complete without an end/ }],
    edits: [
      {
        file: 'src/machines/keeper.ts',
        find: 'for (const { uuid, run } of strays) await link.kill(uuid, run)',
        replace: 'for (const { uuid, run } of listed.runs) await link.kill(uuid, run)',
      },
    ],
  },
  {
    // Each replica has a limit of its own.
    name: 'dispatch-limit-of-each',
    attacks: [{ name: 'dispatch V10 the pace', expected: /V10 \d+ calls in/ }],
    edits: [
      {
        file: 'src/store/dispatch/scheduling.ts',
        find: '[this.#keys.dispatch.calls]',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
        replace: '[`${this.#keys.dispatch.calls}-${process.pid}`]',
      },
    ],
  },
  {
    // A container takes a place on a machine when it is sent, not when it is assigned.
    name: 'dispatch-places-uncounted',
    attacks: [{ name: 'dispatch V1 places', expected: /V1 \d+ (containers|processors) on a machine/ }],
    edits: [
      {
        file: 'src/dispatch/slots.ts',
        find: '  add(slot.left, share, -1)\n}',
        replace: '  void share\n}',
      },
      {
        file: 'src/store/commands/write-decisions.3.lua',
        find: '  if next(brief.containers) == nil then\n',
        replace: '  if not is_busy(brief) or true then\n',
      },
    ],
  },
  {
    // The least urgent come first.
    name: 'dispatch-reversed',
    attacks: [{ name: 'dispatch V11 order', expected: /V11 .* began before/ }],
    edits: [
      {
        file: 'src/dispatch/order.ts',
        find: '[...byPriority.keys()].sort((a, b) => b - a)',
        replace: '[...byPriority.keys()].sort((a, b) => a - b)',
      },
      {
        // Else the send would put it right.
        file: 'src/store/commands/include/containers.lua',
        find: "redis.call('ZRANGE', group_key(container.group), 0, 49)",
        replace: "redis.call('ZRANGE', group_key(container.group), 0, 49, 'REV')",
      },
    ],
  },
  {
    // A supervisor gets what it is to run as an argument.
    name: 'dispatch-argv',
    attacks: [{ name: 'dispatch V13 secrets', expected: /V13 an argument: a secret variable/ }],
    edits: [
      {
        file: 'src/runner/launch.ts',
        find: "'runner', 'supervise', folder.uuid, String(folder.run)]",
        replace: "'runner', 'supervise', folder.uuid, String(folder.run), JSON.stringify(folder.warrant())]",
      },
      {
        file: 'src/runner/command.ts',
        find: 'isRun(Number(run)) && rest.length === 0)',
        replace: 'isRun(Number(run)) && rest.length >= 0)',
      },
    ],
  },
  {
    // Whatever has the tag of a set is ours.
    name: 'dispatch-no-filter',
    attacks: [{ name: 'dispatch V4 foreign', expected: /V4 (Terminate|CreateTags|DeleteNetwork)/ }],
    edits: [
      {
        file: 'src/clouds/ec2/requests.ts',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
        find: '({ Name: `tag:${tag}`, Values: [...values] })',
        replace: "({ Name: values.length > 0 ? 'tag-key' : '', Values: [tag] })",
      },
      {
        file: 'src/clouds/ec2/requests.ts',
        find: 'return set !== undefined && values.includes(set)',
        replace: 'return set !== undefined && values.length > 0',
      },
      {
        file: 'src/pool/tagging.ts',
        find: "return set !== '' && this.#options.sets.includes(set)",
        replace: "return set !== ''",
      },
    ],
  },
]
