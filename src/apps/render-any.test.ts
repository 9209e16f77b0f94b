import fc from 'fast-check'
import { expect, it } from 'vitest'
import { appSettings, appWith, checkedFact, withPod } from '../../test/kit/apps/facts.ts'
import { asObjects, type JsonObject } from '../base/json.ts'
import { plan } from '../reconcile/plan.ts'
import { renderApp } from './render.ts'
import { sources, stored, withoutNulls } from './testing/rendered.ts'
import { appParent } from './words.ts'

const anyJson = fc.jsonValue({ maxDepth: 4 })
/** Values of the right names and any type. */
const anyContainer = fc.record(
  Object.fromEntries(
    ['name', 'image', 'env', 'ports', 'securityContext', 'volumeMounts', 'livenessProbe', 'args', 'lifecycle'].map(
      name => [name, anyJson],
    ),
  ),
  { requiredKeys: [] },
)
const anyPod = fc.record(
  {
    containers: fc.array(fc.oneof(anyContainer, anyJson), { maxLength: 3 }),
    ...{ volumes: fc.array(anyJson), securityContext: anyJson, hostNetwork: anyJson, imagePullSecrets: anyJson },
  },
  { requiredKeys: [] },
)

it('whatever an app says, it gets no right, and what stands of it is at rest', () => {
  fc.assert(
    fc.property(anyPod, anyJson, anyJson, (pod, ports, httpPort) => {
      const fact = appWith({ podTemplate: { spec: pod as JsonObject }, svcTemplate: { spec: { ports } }, httpPort })
      const container = { ...asObjects(pod.containers)[0], image: 'i' }
      const sound = withPod({ ...(pod as JsonObject), containers: [container] })
      for (const each of [fact, sound]) {
        const { spec } = checkedFact(each)
        if (!spec) continue
        const { objects } = renderApp(each, spec, appSettings(), true)
        const text = JSON.stringify(withoutNulls(objects.map(({ object }) => object)))
        expect(text).not.toMatch(/"(hostPath|hostNetwork|privileged|serviceAccountName|nodeName|hostPort)"/)
        const standing = objects.map(stored)
        expect(plan({ objects, standing, parent: each }, { parent: appParent, sources })).toEqual([])
      }
      expect(checkedFact(sound).spec).toBeDefined()
    }),
    { numRuns: 40 },
  )
})
