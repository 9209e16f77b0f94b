import { describe, expect, test } from 'vitest'
import { collectionPath, creationPath, objectPath, registerKind, resourceOf } from './kinds.ts'

describe('paths of kinds', () => {
  test('contain the namespace for a core kind', () => {
    expect(objectPath({ apiVersion: 'v1', kind: 'Pod', namespace: 'nublado-ada', name: 'nb-ada' })).toBe(
      '/api/v1/namespaces/nublado-ada/pods/nb-ada',
    )
  })

  test.each([
    ['PersistentVolumeClaim', 'persistentvolumeclaims'],
    ['ResourceQuota', 'resourcequotas'],
  ])('contain the plural of %s: %s', (kind, plural) => {
    expect(collectionPath('v1', kind, 'a')).toBe(`/api/v1/namespaces/a/${plural}`)
  })

  test('contain the group, and no namespace for a kind of the whole cluster', () => {
    expect(collectionPath('networking.k8s.io/v1', 'NetworkPolicy', 'a')).toBe(
      '/apis/networking.k8s.io/v1/namespaces/a/networkpolicies',
    )
    expect(objectPath({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'a', name: 'b' })).toBe(
      '/api/v1/namespaces/a/persistentvolumeclaims/b',
    )
    expect(objectPath({ apiVersion: 'v1', kind: 'Namespace', name: 'a' })).toBe('/api/v1/namespaces/a')
    expect(collectionPath('v1', 'Pod')).toBe('/api/v1/pods')
  })

  test.each([
    ['/api/v1/namespaces', 'namespaces'],
    ['/api/v1/namespaces/nublado-ada', 'namespaces'],
    ['/api/v1/namespaces/nublado-ada/pods?limit=5', 'pods'],
    ['/api/v1/namespaces/nublado-ada/secrets/nb-ada', 'secrets'],
    ['/apis/networking.k8s.io/v1/namespaces/nublado-ada/networkpolicies', 'networkpolicies'],
    ['/api/v1/pods?watch=true', 'pods'],
    ['/version', 'other'],
  ])('%s has the resource %s', (path, resource) => {
    expect(resourceOf(path)).toBe(resource)
  })

  test('escape names, so that no name leads elsewhere', () => {
    expect(objectPath({ apiVersion: 'v1', kind: 'Pod', namespace: '../x', name: 'a/b?c' })).toBe(
      '/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc',
    )
  })

  test('are refused when they would address something else', () => {
    expect(() => objectPath({ apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: '' })).toThrow('without a name')
    expect(() => objectPath({ apiVersion: 'v1', kind: 'Pod', namespace: '..', name: 'a' })).toThrow('".." is no name')
    expect(() => creationPath('v1', 'Pod')).toThrow('a Pod needs a namespace')
    expect(() => creationPath('v1', 'Pod', '')).toThrow('a Pod needs a namespace')
    expect(() => collectionPath('v1', 'Namespace', 'a')).toThrow('has no namespace')
    expect(() => collectionPath('v1', 'Gadget')).toThrow('no path is known for v1 Gadget')
  })

  test('contain the subresource of an object', () => {
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'b' }
    expect(objectPath(ref, 'status')).toBe('/api/v1/namespaces/a/pods/b/status')
    expect(resourceOf(objectPath(ref, 'status'))).toBe('pods')
  })
})

describe('registerKind', () => {
  const place = { plural: 'widgets', namespaced: false }

  test('adds the paths of a kind', () => {
    registerKind('kinds.test/v1', 'Widget', place)
    expect(objectPath({ apiVersion: 'kinds.test/v1', kind: 'Widget', name: 'a' })).toBe('/apis/kinds.test/v1/widgets/a')
    expect(() => collectionPath('kinds.test/v1', 'Widget', 'a')).toThrow('has no namespace')
  })

  test('accepts the same place again, and no other one', () => {
    registerKind('kinds.test/v1', 'Widget', place)
    registerKind('kinds.test/v1', 'Widget', place)
    expect(() => registerKind('kinds.test/v1', 'Widget', { ...place, namespaced: true })).toThrow('as widgets')
    expect(() => registerKind('v1', 'Pod', { plural: 'secrets', namespaced: true })).toThrow('as pods')
  })
})
