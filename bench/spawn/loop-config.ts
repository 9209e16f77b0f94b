/** Configuration of the bare loop as an installation of its own: the replicas ignore its labs. */
import type { Config } from '../../src/config/schema.ts'
import { asInstallation } from '../measure/plans.ts'

/** The prefix of its namespaces and the value of its installation label. */
export const loopInstallation = 'loop'

/** Its requests at once. */
export const loopInFlight = 32

/** The replicas' configuration under the loop's names. */
export const loopConfig = (config: Config): Config => asInstallation(config, loopInstallation)
