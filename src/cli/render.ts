/** `skylab render`: prints the objects that a create would make, without a cluster. */
import { stringify } from 'yaml'
import { systemClock } from '../base/clock.ts'
import type { CreateRequest, Identity, KubeObject, LabPlan } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { ConfigError } from '../config/problems.ts'
import type { Config } from '../config/schema.ts'
import { createImageSource } from '../images/registry/create.ts'
import { standaloneImages } from '../images/standalone.ts'
import { chooseLab } from '../labs/choose.ts'
import { requireFit } from '../labs/fit.ts'
import { renderLab } from '../labs/render.ts'
import { crossProblems } from '../settings/checks.ts'
import { readConfig } from '../settings/config-file.ts'
import { loadRegistrySettings } from '../settings/load-registry.ts'
import { codes, type Output, warningsTo } from './output.ts'
import { sourcesInWords } from './sources.ts'
import { problemsOf, readLab, readUser } from './user.ts'

export interface RenderCommand {
  readonly config: string
  /** Files of JSON. */
  readonly user: string
  readonly lab: string
  /** Whether secret values are printed. */
  readonly secrets: boolean
}

/**
 * Prints the objects as YAML documents, in the order of their creation.
 * @returns the exit code
 * @throws {ConfigError} for each of the files
 */
export async function renderFiles(command: RenderCommand, output: Output): Promise<number> {
  const config = await readConfig(command.config)
  // The identity comes from a file, so the provider's configuration does not matter.
  const problems = crossProblems(config).filter(problem => !problem.startsWith('identity.'))
  if (problems.length > 0) throw new ConfigError(command.config, problems)
  const identity = await readUser(command.user)
  const request = await readLab(command.lab, config)
  try {
    const { namespace, objects } = await planOf(command.config, config, identity, request, output)
    output.out(documentsOf([namespace, ...objects], command.secrets))
    return codes.ok
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    output.err(
      `the create would be answered ${error.status}:\n${problemsOf(error)
        .map(line => `  ${line}\n`)
        .join('')}`,
    )
    return codes.failed
  }
}

/** As the service computes it. */
async function planOf(
  file: string,
  config: Config,
  identity: Identity,
  request: CreateRequest,
  output: Output,
): Promise<LabPlan> {
  const { images, authorities, credentials } = await loadRegistrySettings(file)
  const choice = chooseLab(config.lab, identity, request.options)
  requireFit(config, identity)
  const source = createImageSource({ images, clock: systemClock, authorities, credentials: async () => credentials })
  try {
    const service = standaloneImages({ images, source, clock: systemClock, log: warningsTo(output) })
    const image = await service.resolve(request.options, identity)
    const idle = config.idle.enabled ? { namespace: config.kubernetes.namespace ?? 'skylab' } : undefined
    return renderLab({ config, identity, request, choice, image, sources: sourcesInWords(config.lab), idle }).plan
  } finally {
    await source.close()
  }
}

const mask = '***'

/** For readers of YAML 1.1, where `no` and `0644` are not texts. */
function documentsOf(objects: readonly KubeObject[], secrets: boolean): string {
  const form = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 } as const
  return objects.map(object => `---\n${stringify(secrets ? object : masked(object), form)}`).join('')
}

function masked(object: KubeObject): KubeObject {
  if (object.kind !== 'Secret') return object
  const { data, stringData } = object as { data?: object; stringData?: object }
  return { ...object, ...(data && { data: hidden(data) }), ...(stringData && { stringData: hidden(stringData) }) }
}

function hidden(values: object): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map(key => [key, mask]))
}
