/** The scope that a credential needs to open apps, the same as at the API of apps. */
import type { Scope } from '../../base/domain.ts'

export const appScope: Scope = 'exec:notebook'
