/** Joins the watch on templates, and what REST does for them. Only REST needs it: the reconciler reads no template. */
import { TemplateService } from '../../appcontrol/templates.ts'
import { AppWriter } from '../../appcontrol/writer.ts'
import { templateWatch } from '../../apps/template.ts'
import { logUnexpected } from '../../base/log.ts'
import type { AppReplica } from './replica.ts'
import { joinSight } from './watches.ts'

export function joinTemplates({ basics, kube }: Pick<AppReplica, 'basics' | 'kube'>) {
  const { config, log } = basics
  const namespace = config.apps.rest?.templateNamespace
  const { reflector, sight } = joinSight(basics, kube, {
    ...templateWatch,
    ...(namespace !== undefined && { namespace }),
  })
  const ending = new AbortController()
  let isSynced = false
  const watchUntilSynced = async () => {
    await sight.whenSynced(ending.signal)
    isSynced = true
  }
  return {
    service: new TemplateService({
      ...{ namespace, watch: sight, secretPatterns: config.lab.secretPatterns, isSynced: () => isSynced },
      writer: new AppWriter({ what: 'template', apps: sight, kube, onWritten: () => {} }),
    }),
    start: () => {
      if (namespace === undefined) return
      void reflector.start()
      watchUntilSynced().catch(error => {
        if (!ending.signal.aborted) logUnexpected(log, error, 'templates cannot be watched')
      })
    },
    stop: async () => {
      ending.abort()
      await reflector.stop()
    },
  }
}
