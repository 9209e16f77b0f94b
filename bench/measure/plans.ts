/** Labs as the controller renders them, for programs that make the same objects. */
import { systemClock } from '../../src/base/clock.ts'
import type { LabPlan } from '../../src/base/domain.ts'
import type { Config } from '../../src/config/schema.ts'
import { createImageSource } from '../../src/images/registry/create.ts'
import { standaloneImages } from '../../src/images/standalone.ts'
import { chooseLab } from '../../src/labs/choose.ts'
import { renderLab } from '../../src/labs/render.ts'
import { noSources } from '../../src/labs/sources.ts'
import type { Settings } from '../../src/settings/load.ts'
import { labEnv } from './lab-client.ts'

const options = { image_type: 'recommended', size: 'small' }

/** Renders a small lab of each user by this configuration. */
export async function plansOf(
  config: Config,
  tokens: Settings['tokens'],
  users: readonly string[],
): Promise<readonly LabPlan[]> {
  const { images } = config
  const source = createImageSource({ images, clock: systemClock })
  const service = standaloneImages({ images, source, clock: systemClock, log: { warn: () => {} } })
  const image = await service.resolve(options, { groups: [] })
  await source.close()
  const identities = new Map(tokens.map(({ quota: _, ...identity }) => [identity.username, identity]))
  return users.map(user => {
    const identity = identities.get(user)!
    const choice = chooseLab(config.lab, identity, options)
    return renderLab({ config, identity, request: { options, env: labEnv }, choice, image, sources: noSources }).plan
  })
}

/** A configuration for an installation of another name: the replicas ignore its labs. */
export const asInstallation = (config: Config, name: string): Config => ({
  ...config,
  installation: name,
  lab: { ...config.lab, namespacePrefix: name },
})
