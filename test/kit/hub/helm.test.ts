import { expect, it } from 'vitest'
import { readExample, valuesFor } from './helm.ts'

it('the example for Zero to JupyterHub has one culler when the chart has its own by default', () => {
  expect(readExample('skylab.yaml').idle.enabled).toBe(true)
  expect(valuesFor({}).cull).toMatchObject({ enabled: false })
})
