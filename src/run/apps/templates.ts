/** Joins the watch on templates, and what REST does for them. Only REST needs it: the reconciler reads no template. */
import { TemplateService } from '../../appcontrol/templates.ts'
import { AppWriter } from '../../appcontrol/writer.ts'
import { templateWatch } from '../../apps/template.ts'
import type { AppReplica } from './replica.ts'
import { joinSight } from './watches.ts'

export function joinTemplates({ basics, kube }: Pick<AppReplica, 'basics' | 'kube'>) {
  const { config } = basics
  const namespace = config.apps.rest?.templateNamespace
  const { reflector, sight } = joinSight(basics, kube, {
    ...templateWatch,
    ...(namespace !== undefined && { namespace }),
  })
  const isSynced = () => reflector.synced()
  return {
    service: new TemplateService({
      ...{ namespace, watch: sight, secretPatterns: config.lab.secretPatterns, isSynced },
      writer: new AppWriter({ what: 'template', namespace, apps: sight, kube, onWritten: () => {} }),
    }),
    start: () => {
      if (namespace !== undefined) void reflector.start()
    },
    stop: () => reflector.stop(),
    /** Why templates cannot be shown yet, in words. Undefined: they are shown, or there are none. */
    waitingFor: (): string | undefined => {
      if (namespace === undefined || isSynced()) return undefined
      return [`the templates in ${namespace}`, reflector.trouble()].filter(each => each !== undefined).join(': ')
    },
    /** Why the watch has no news. */
    trouble: () => reflector.trouble(),
    /** Resolves when they are shown. */
    whenShown: async (signal: AbortSignal) => {
      if (namespace !== undefined) await reflector.whenSynced(signal)
    },
  }
}
