import { expect, it } from 'vitest'
import { api, prefix } from '../../../test/kit/api/scripted-api.ts'

const page = () => api()('GET', 'docs')

it('GET docs needs no token, and permits no other origin', async () => {
  const response = await page()
  expect(response.status).toBe(200)
  const policy = response.headers.get('content-security-policy')
  expect(policy).toMatch(/default-src 'none'; script-src 'self';/)
  expect(policy).not.toMatch(/unsafe|https?:/)
})

it('GET docs names no other host, and has no inline script or style', async () => {
  const html = await (await page()).text()
  expect(html).not.toMatch(/\/\/|<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/)
})

it('GET docs loads only files that exist', async () => {
  const html = await (await page()).text()
  const links = [...html.matchAll(/(?:src|href)="([^":]+)"/g)].map(([, link]) => link!)
  expect(links).toEqual(['docs/swagger-ui.css', 'docs/swagger-ui-bundle.js', 'docs/page.js', 'openapi.json'])
  for (const link of links) {
    // As a browser resolves it on a page without a slash at its end.
    const { pathname } = new URL(link, `http://any${prefix}/docs`)
    const response = await api()('GET', pathname)
    expect([link, response.status]).toEqual([link, 200])
    expect((await response.text()).length).toBeGreaterThan(100)
  }
})

it.each(['index.html', '..%2fpackage.json', 'constructor', 'swagger-ui.js', 'swagger-ui-bundle.js.map'])(
  'GET docs/%s is 404',
  async file => {
    expect((await api()('GET', `docs/${file}`)).status).toBe(404)
  },
)
