/** What all steps of the demo of apps share. */
import type { Browser } from 'playwright-core'
import type { DemoOptions } from '../demo/options.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { AppsSite } from './site.ts'
import type { Visitor } from './visitor.ts'

export interface AppsContext extends AppsSite {
  readonly options: Pick<DemoOptions, 'json'>
  readonly browser: Browser
  /** As the administrator. */
  readonly kubectl: Kubectl
  readonly signal: AbortSignal
  /** Is shown what people see, for docs/apps.png. */
  readonly camera?: ((visitor: Visitor) => Promise<void>) | undefined
}
