/**
 * Reads what a keeper asks, without trust: it may be an old one, or broken. Checks by hand: the library of schemas doubles the
 * time in which a runner starts (55 instead of 25 ms for a program that does nothing else). Pure.
 */
import { asObject, type JsonObject, parseJson } from '../base/json.ts'
import { longestWarrantBytes, type RunSpec, type ToRunner, type Warrant } from '../dispatch/protocol.ts'
import { isRun, isUuid } from './state/names.ts'

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Text that a program can be given. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0')

const isPlain = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isKey = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** Why a line is none of the protocol, with its id if it has one. */
export interface Misread {
  readonly id?: number
  readonly problem: string
}

export const isMisread = (asked: ToRunner | Misread): asked is Misread => 'problem' in asked

export function readAsked(line: string): ToRunner | Misread {
  const value = parseJson(line)
  if (!isPlain(value)) return { problem: 'not a JSON object' }
  const { type, id } = value
  if (type === 'hello')
    return isRun(value.epoch) ? { type, epoch: value.epoch } : { problem: 'hello: the epoch is not a number above 0' }
  if (type === 'ack') {
    const { uuid, run, seq } = value
    return isUuid(uuid) && isRun(run) && isCount(seq)
      ? { type, uuid, run, seq }
      : { problem: 'ack: needs uuid, run and seq' }
  }
  if (!isCount(id)) return { problem: 'the id is not a number' }
  if (type === 'list') return { type, id }
  if (type === 'kill') {
    const { uuid, run } = value
    return isUuid(uuid) && isRun(run) ? { type, id, uuid, run } : { id, problem: 'kill: needs uuid and run' }
  }
  if (type !== 'start') return { id, problem: 'unknown type' }
  const warrant = readWarrant(value)
  if (typeof warrant === 'string') return { id, problem: `start: ${warrant}` }
  const { key } = value
  if (key !== undefined && !isKey(key)) return { id, problem: 'start: the key is not 64 digits of hex' }
  return { type, id, ...warrant, ...(key !== undefined && { key }) }
}

/** @returns what is wrong with it; never a value, which may be a secret */
function readWarrant(value: JsonObject): Warrant | string {
  const { uuid, run, owner, seal } = value
  if (!isUuid(uuid)) return 'the uuid is none of a container'
  if (!isRun(run)) return 'the run is not a number above 0'
  if (!isText(owner) || !isText(seal)) return 'owner and seal must be texts'
  const spec = readSpec(asObject(value.spec))
  if (typeof spec === 'string') return spec
  const warrant = { uuid, run, owner, spec, seal }
  return Buffer.byteLength(JSON.stringify(warrant)) > longestWarrantBytes ? 'too long' : warrant
}

/** Nothing of it can be read as an option by the programs that get it, or end a line of their files. */
const imageForm = /^[A-Za-z0-9][A-Za-z0-9._\-/:@]{0,511}$/
const pathForm = /^\/[^,"\0\r\n]{0,1023}$/
const variableForm = /^[A-Za-z_][A-Za-z0-9_.-]{0,255}$/

function readSpec(value: JsonObject): RunSpec | string {
  const { command, image, cwd, vcpus, ramBytes, maxRunSeconds, environment, mounts } = value
  if (!Array.isArray(command) || command.length === 0 || !command.every(isText) || command[0] === '')
    return 'the command is not a list of texts'
  if (image !== '' && !(typeof image === 'string' && imageForm.test(image))) return 'not a name of an image'
  if (cwd !== '' && cwd !== '.' && !(typeof cwd === 'string' && pathForm.test(cwd)))
    return 'cwd is not an absolute path'
  if (!(Number.isFinite(vcpus) && (vcpus as number) >= 0) || !isCount(ramBytes) || !isCount(maxRunSeconds))
    return 'vcpus, ramBytes or maxRunSeconds'
  if (
    !isPlain(environment) ||
    !Object.entries(environment).every(([name, text]) => variableForm.test(name) && isText(text))
  )
    return 'the environment has a name or a value that cannot be'
  if (!isPlain(mounts) || !Object.entries(mounts).every(([path, mount]) => pathForm.test(path) && isMount(mount)))
    return 'a mount that cannot be'
  return {
    ...{ command, image, cwd, vcpus: vcpus as number, ramBytes, maxRunSeconds },
    environment: environment as RunSpec['environment'],
    mounts: mounts as RunSpec['mounts'],
  }
}

const isMount = (value: unknown) => isPlain(value) && value.kind === 'tmp' && isCount(value.capacity)
