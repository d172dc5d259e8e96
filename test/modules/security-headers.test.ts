/** The headers that `securityHeaders()` adds to responses, by default and with options. */
import { afterEach, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  html,
  Module,
  reply,
  type Application,
} from '../../src/index.js'
import { securityHeaders } from '../../src/modules/security-headers/security-headers.js'

@Controller
class PageController {
  @Get('/page') page() {
    return html('<p>hello')
  }
  @Get('/own') own() {
    return reply('<p>own').type('text/html').header('Content-Security-Policy', "default-src 'none'")
  }
  @Get('/data') data() {
    return { ok: true }
  }
}

let app: Application | undefined
afterEach(() => app?.close())

async function start(...args: Parameters<typeof securityHeaders>) {
  @Module({ controllers: [PageController], imports: [securityHeaders(...args)] })
  class AppModule {}
  app = await bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    trustProxy: true,
    docs: { title: 'T', version: '1' },
  })
  const { url } = app
  return async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(url + path, { headers })).headers
}

it('sends policies with HTML, and keeps the policies of a page', async () => {
  const getHeaders = await start()
  const page = await getHeaders('/page')
  expect(page.get('content-security-policy')).toMatch(
    /^default-src 'self'.*frame-ancestors 'none'$/,
  )
  expect(page.get('x-frame-options')).toBe('DENY')
  expect(page.get('referrer-policy')).toBe('no-referrer')
  expect(page.get('strict-transport-security')).toBeNull()
  expect((await getHeaders('/own')).get('content-security-policy')).toBe("default-src 'none'")
  expect((await getHeaders('/data')).get('content-security-policy')).toBeNull()
  const swagger = await getHeaders('/swagger')
  expect(swagger.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'/)
  expect(swagger.get('x-frame-options')).toBe('DENY')
})

it('sends Strict-Transport-Security over https only', async () => {
  const getHeaders = await start()
  const secure = await getHeaders('/page', { 'X-Forwarded-Proto': 'https' })
  expect(secure.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains')
})

it('omits headers that are switched off, and refuses options without an effect', async () => {
  const getHeaders = await start({ csp: false, frame: 'SAMEORIGIN', referrer: false, hsts: false })
  const page = await getHeaders('/page', { 'X-Forwarded-Proto': 'https' })
  expect(page.get('content-security-policy')).toBeNull()
  expect(page.get('x-frame-options')).toBe('SAMEORIGIN')
  expect(page.get('strict-transport-security')).toBeNull()
  await app?.close()
  await expect(start({ frame: 'ALLOW' as 'DENY' })).rejects.toMatchObject({
    problems: [{ code: 'INVALID_OPTION', message: 'securityHeaders: frame cannot be used.' }],
  })
})
