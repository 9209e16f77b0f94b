/** Controls of the idle engine: `src/idle`, and the scripts that settle its stops. */
import type { Control } from './control.ts'

const look = 'src/idle/look.ts'
const check = 'src/idle/check.ts'
const stops = 'src/store/commands/include/stops.lua'
const cull = 'src/store/commands/cull-lab.16.lua'

/** A decision is good for ever. */
const noFreshLook = {
  file: check,
  find: "if (stop.why !== 'age' && clock.monotonicMs() - trueMs > freshLookMs) return againMs",
  replace: '',
}

export const controlsOfIdle: readonly Control[] = [
  {
    // A server that does not answer shows no activity.
    name: 'idle-unknown-is-idle',
    attacks: [{ name: 'idle K2 ', expected: /its stop was requested/ }],
    edits: [
      {
        file: 'src/idle/looks/probe.ts',
        find: 'outcome instanceof Error ? failedLook(outcome, target) : outcome',
        replace: "outcome instanceof Error ? { kind: 'seen', ...nothing, source: undefined } : outcome",
      },
    ],
  },
  {
    // The script does not ask whether somebody came since the look.
    name: 'idle-no-touches',
    attacks: ['idle K3 ', 'apps K3 '].map(name => ({ name, expected: /kept by the reply, and stopped/ })),
    edits: [
      {
        file: stops,
        find: 'local now, last = now_ms(), latest(known)',
        replace: 'local now, last = now_ms(), ask.readLastMs',
      },
      {
        file: stops,
        find: 'if last ~= ask.readLastMs or tonumber(known.touches or 0) ~= ask.touches or tonumber(known.keep or 0) > now then',
        replace: 'if false then',
      },
    ],
  },
  {
    // A decision on one pod stops whatever runs by the name of the user.
    name: 'idle-no-incarnation',
    attacks: [{ name: 'idle K4 ', expected: /a decision on .* stopped/ }],
    edits: [
      noFreshLook,
      { file: cull, find: "or active == '1' or of ~= op or uid ~= ask.podUid then", replace: "or active == '1' then" },
      { file: cull, find: 'local refused = refusal(keys, identity, user, ask)', replace: 'local refused = nil' },
    ],
  },
  {
    // The end of a check is written whoever has the lab by now.
    name: 'idle-no-token',
    attacks: [{ name: 'idle K7 a replica', expected: /a late write was not refused/ }],
    edits: [
      {
        file: 'src/store/commands/end-check.10.lua',
        find: 'if not standing or tonumber(standing) ~= tonumber(score) then',
        replace: 'if not standing then',
      },
    ],
  },
  {
    // A lab is stopped by whoever had it once.
    name: 'idle-no-token-at-stop',
    attacks: [{ name: 'idle K7 a check', expected: /stopped by a former taker/ }],
    edits: [{ file: stops, find: 'if not is_ours(keys, id, ask.score) then', replace: 'if false then' }],
  },
  {
    // What the watch showed a minute ago counts as the present.
    name: 'idle-stale-watch',
    attacks: [{ name: 'idle K10 ', expected: /a stranger got the token/ }],
    edits: [{ file: look, find: 'export const freshMs = 10_000', replace: 'export const freshMs = 1e9' }],
  },
  {
    name: 'idle-any-pod',
    attacks: [{ name: 'idle K10 ', expected: /a pod that is not ready was asked/ }],
    edits: [
      {
        file: 'src/idle/workloads/labs.ts',
        find: 'mayBeAsked: idle?.ready === true && !idle.hostNetwork,',
        replace: 'mayBeAsked: true,',
      },
    ],
  },
  {
    name: 'idle-no-fuse',
    attacks: [{ name: 'idle K12 ', expected: /labs were stopped within a minute/ }],
    edits: [
      {
        file: stops,
        find: "return is_held(keys, id, ask.why, ask.stopsPerMinute) and 'held' or nil",
        replace: 'return nil',
      },
    ],
  },
  {
    // Idle times are measured by what another Redis knew.
    name: 'idle-no-floor',
    whole: true,
    attacks: [{ name: 'idle K11 Redis with older data', expected: /ms after the loss, the time-out is/ }],
    edits: [
      {
        file: stops,
        find: 'local since = math.max(last, ask.lastMs, floor)',
        replace: 'local since = math.max(last, ask.lastMs)',
      },
      {
        file: 'src/idle/decisions/ends.ts',
        find: 'Math.max(activity.lastMs, read.floorMs) + msOf(rule.idleTimeoutSeconds)',
        replace: 'activity.lastMs + msOf(rule.idleTimeoutSeconds)',
      },
    ],
  },
  {
    // Only Redis remembers who asked for time.
    name: 'idle-no-annotation',
    attacks: [{ name: 'idle K11 Redis emptied', expected: /was kept, and (runs no more|was stopped)/ }],
    edits: [
      {
        file: 'src/idle/decisions/seen.ts',
        find: 'keepMs: keepMs > nowMs && keepMs <= nowMs + longestMs ? keepMs : 0,',
        replace: 'keepMs: keepMs > longestMs + nowMs * 2 ? keepMs : 0,',
      },
    ],
  },
  {
    // A decision is carried out however old its look is.
    name: 'idle-no-fresh-look',
    attacks: [{ name: 'idle K5 looks', expected: /was sent on an old look/ }],
    edits: [noFreshLook],
  },
  {
    // Whoever is idle for long enough is stopped, warned or not.
    name: 'idle-no-warning',
    attacks: [{ name: 'idle K5 a rule', expected: /was stopped without a warning|the warning is/ }],
    edits: [
      {
        file: 'src/idle/decisions/decide.ts',
        find: 'const eligibleMs = next && Math.max(next.atMs, warnedUntilMs)',
        replace: 'const eligibleMs = next && Math.max(next.atMs, Math.min(0, warnedUntilMs))',
      },
      { file: stops, find: 'not is_warned(known, ask) or', replace: '' },
    ],
  },
  {
    // A time that is ahead of now is believed.
    name: 'idle-ahead-believed',
    attacks: [{ name: 'idle K5 dates', expected: /was never stopped/ }],
    edits: [
      {
        file: 'src/idle/decisions/seen.ts',
        find: 'atMs > activity.lastMs && atMs <= nowMs',
        replace: 'atMs > activity.lastMs',
      },
    ],
  },
  {
    // Redis' clock is always right.
    name: 'idle-clock-believed',
    attacks: [{ name: 'idle K6 ', expected: /was stopped after/ }],
    edits: [
      { file: 'src/idle/clocks.ts', find: 'if (byMs !== 0) await onJump(byMs)', replace: '' },
      { file: stops, find: 'if math.abs(now_ms() - ask.expectedMs) > jump_ms then', replace: 'if false then' },
    ],
  },
  {
    // What did not answer is checked among all others.
    name: 'idle-one-lane',
    attacks: [{ name: 'idle K8 ', expected: /a lab that answers waited/ }],
    edits: [
      { file: 'src/store/activity.ts', find: "activity.failures > 0 ? 'slow' : 'fast'", replace: "'fast'" },
      {
        file: 'src/idle/decisions/decide.ts',
        find: 'return Math.min(failedMs(activity.failures, checkMs, slowestMs), ...ahead)',
        replace: 'return Math.min(failedMs(1, checkMs, slowestMs), ...ahead)',
      },
    ],
  },
  {
    // A stop is requested, and no operation of it begins.
    name: 'idle-not-carried-out',
    attacks: [{ name: 'idle K9 ', expected: /it has not ended|has not landed/ }],
    edits: [
      {
        file: cull,
        find: "start_deletion(keys, 'lab', user, deletion, time_limit, first, '', '', by, 0)",
        replace: '',
      },
    ],
  },
  {
    // A kernel that runs silently is idle since its last output.
    name: 'idle-busy-unseen',
    attacks: [{ name: 'idle K1 ', expected: /and it was busy/ }],
    edits: [
      {
        file: 'src/idle/looks/kernels.ts',
        find: "if (kernels.some(kernel => !['idle', 'starting', ''].includes(stateOf(kernel)))) return busyNow",
        replace: '',
      },
    ],
  },
]
