/** `skylab rights`: prints the rights that an operator grants to an installation, without a cluster. */
import { stringify } from 'yaml'
import { ConfigError } from '../config/problems.ts'
import { renderRights } from '../labs/rights.ts'
import { servesLabs } from '../settings/checks.ts'
import { readConfig } from '../settings/config-file.ts'
import { labProblems } from '../settings/lab-checks.ts'
import { renderTenantRights } from '../tenants/settings.ts'
import { codes, type Output } from './output.ts'

export interface RightsCommand {
  readonly config: string
  /** The controller's own. Default: `kubernetes.namespace`. */
  readonly namespace?: string | undefined
}

const noNamespace = 'kubernetes.namespace: not set: name the namespace of the controller by --namespace NAME'

const noRights = (what: string) =>
  `run: the rights of ${what} follow from no configuration: k8s/components/${what} has all of them`
/** What has one account with the same rights at every site. */
const fixed = ['notebooks', 'apps'] as const

/**
 * Prints the objects as YAML documents, for `resources` or `patches` of an overlay.
 * @returns the exit code
 * @throws {ConfigError} when the file is wrong, the namespace is neither given nor configured, or no right follows from it
 */
export async function showRights({ config: file, namespace }: RightsCommand, { out }: Output): Promise<number> {
  const config = await readConfig(file)
  for (const what of fixed) if (config.run.includes(what)) throw new ConfigError(file, [noRights(what)])
  const problems = servesLabs(config) ? labProblems(config) : []
  if (problems.length > 0) throw new ConfigError(file, problems)
  const controllers = namespace ?? config.kubernetes.namespace
  // With a guessed name, two installations of one name in two namespaces would overwrite each other's rules.
  if (controllers === undefined) throw new ConfigError(file, [noNamespace])
  const objects = servesLabs(config)
    ? renderRights(config, controllers)
    : renderTenantRights({ ...config, ownNamespace: controllers })
  out(`# Made by \`skylab rights\` of skylab.yaml: make it again after each change there.\n${rightsText(objects)}`)
  return codes.ok
}

/** For readers of YAML 1.1. */
export const rightsText = (objects: readonly object[]): string =>
  objects.map(each => stringify(each, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n')
