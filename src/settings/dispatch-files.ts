/** Reads the files that the block `dispatch` names. */
import type { DispatchConfig } from '../config/dispatch.ts'
import type { Config } from '../config/schema.ts'

/** Secrets of an installation that runs containers on machines. */
export interface DispatchFiles {
  /** Marks machines, and seals what they run. */
  readonly token: string
  readonly previousTokens: readonly string[]
  /** Of the management API; without one nobody may use that. */
  readonly managementToken: string | undefined
  /** PEM, in OpenSSH's form or PKCS, without a passphrase. */
  readonly privateKey: string
  /** The full path of what is copied to machines; '' if their image has it. */
  readonly runnerBinary: string
  /** Of `queue.arvados`, where it is. */
  readonly arvados: { readonly token: string; readonly authorities: string | undefined } | undefined
  /** `CloudVMs.DriverParameters` with full paths. */
  readonly driverParameters: Readonly<Record<string, unknown>>
}

interface Reader {
  text(key: string, path: string | undefined): Promise<string | undefined>
  secret(key: string, path: string | undefined): Promise<string | undefined>
  present(key: string, path: string | undefined): Promise<string | undefined>
  /** PEM of authorities. */
  authorities(key: string, path: string | undefined): Promise<string | undefined>
}

/** Keys of HMACs: as much as nobody guesses. */
const tokenForm = /^[\x21-\x7e]{32,512}$/
const managementForm = /^[\x21-\x7e]{16,512}$/

export async function readDispatchFiles(
  { dispatch }: Pick<Config, 'dispatch'>,
  reader: Reader,
  problems: string[],
): Promise<DispatchFiles | undefined> {
  if (!dispatch) return undefined
  const taken = new Map<string, string>()
  const token = async (key: string, path: string | undefined, form: RegExp, least: number) => {
    const text = await reader.secret(key, path)
    if (!text) return undefined
    const other = taken.get(text)
    taken.set(text, key)
    if (!form.test(text)) problems.push(`${key}: must be ${least} to 512 printable characters without spaces`)
    else if (other !== undefined) problems.push(`${key}: is the same secret as ${other}`)
    return text
  }
  const own = await token('dispatch.tokenFile', dispatch.tokenFile, tokenForm, 32)
  const previous: string[] = []
  for (const [index, path] of dispatch.previousTokenFiles.entries()) {
    const text = await token(`dispatch.previousTokenFiles.${index}`, path, tokenForm, 32)
    if (text !== undefined) previous.push(text)
  }
  const managementToken = await token('dispatch.managementTokenFile', dispatch.managementTokenFile, managementForm, 16)
  const ofArvados = dispatch.queue.arvados
  const arvadosToken = await token('dispatch.queue.arvados.tokenFile', ofArvados?.tokenFile, managementForm, 16)
  const authorities = await reader.authorities('dispatch.queue.arvados.caFile', ofArvados?.caFile)
  const privateKey = await readKey(dispatch.Containers.DispatchPrivateKey, reader, problems)
  const { DeployRunnerBinary } = dispatch.CloudVMs
  const runnerBinary = await reader.present('dispatch.CloudVMs.DeployRunnerBinary', DeployRunnerBinary || undefined)
  const driverParameters = await withPaths(dispatch.CloudVMs.DriverParameters, reader)
  if (own === undefined || privateKey === undefined) return undefined
  return {
    arvados: arvadosToken === undefined ? undefined : { token: arvadosToken, authorities },
    driverParameters,
    token: own,
    previousTokens: previous,
    managementToken,
    privateKey,
    runnerBinary: runnerBinary ?? '',
  }
}

/** The block with the full paths of files that a driver reads later. */
export function withFullPaths(
  dispatch: DispatchConfig,
  { driverParameters }: Pick<DispatchFiles, 'driverParameters'>,
): DispatchConfig {
  return { ...dispatch, CloudVMs: { ...dispatch.CloudVMs, DriverParameters: driverParameters } }
}

async function withPaths(parameters: DispatchFiles['driverParameters'], reader: Reader) {
  const { SecretAccessKeyFile: file } = parameters
  if (typeof file !== 'string') return parameters
  const full = await reader.present('dispatch.CloudVMs.DriverParameters.SecretAccessKeyFile', file)
  return { ...parameters, SecretAccessKeyFile: full ?? file }
}

/** By the library that uses it. Its messages may quote the file, so none of them is shown. */
async function readKey(path: string, reader: Reader, problems: string[]): Promise<string | undefined> {
  const key = 'dispatch.Containers.DispatchPrivateKey'
  const text = await reader.text(key, path)
  if (text === undefined) return undefined
  const { default: ssh2 } = await import('ssh2')
  const parsed = ssh2.utils.parseKey(text)
  if (parsed instanceof Error) {
    const needsWords = /passphrase/i.test(parsed.message)
    problems.push(`${key}: the file has ${needsWords ? 'a key with a passphrase' : 'no private key that SSH knows'}`)
  } else if (![parsed].flat().some(each => each.isPrivateKey())) {
    problems.push(`${key}: the file has a public key`)
  }
  return text
}
