/** The routes of activity as a feature of an API. Its module is loaded only where `idle` is on. */
import { labTokenScheme } from '../document/security.ts'
import type { Feature } from '../feature.ts'
import { auditActivity } from './audit.ts'
import { ActivityRoutes } from './handlers.ts'
import { type ActivityParts, activityRoot } from './parts.ts'
import { tags } from './words.ts'

export const activityFeature = (given: ActivityParts): Feature => ({
  tags,
  mount: (app, { config }, admit, streams) => {
    const parts = { ...given, config }
    app.use(`${activityRoot}/*`, auditActivity(parts, given.auditor))
    app.use(`${activityRoot}/*`, admit.bounded)
    if (given.activity.kinds.includes('lab')) {
      app.openAPIRegistry.registerComponent('securitySchemes', 'labToken', labTokenScheme)
    }
    new ActivityRoutes(app, parts, admit, streams).add()
  },
})
