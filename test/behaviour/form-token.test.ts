/** Tokens in the field `formToken` of a body. Source: decisions, Requests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectRequest } from 'filigree'
import { expectError, expectUnauthorized } from './error-responses.js'
import { apiKey as bodiesKey, startBodies } from './body-application.js'
import { apiKey, startProtectedApplication, token } from './gated-application.js'

let app: Application
/** An application that returns each body that it gets. */
let bodies: Application

beforeAll(async () => {
  app = await startProtectedApplication()
  bodies = await startBodies()
})
afterAll(async () => {
  await app.close()
  await bodies.close()
})

describe('formToken', () => {
  const write = (value: string): InjectRequest => ({
    url: '/items',
    json: { name: 'Lamp', formToken: value },
  })

  it('is removed from the body and is not a credential by default', async () => {
    expectUnauthorized(await app.inject(write(apiKey)))
    const answer = await app.inject({ ...write('anything'), token: apiKey })
    expect(answer.json()).toEqual({ body: { name: 'Lamp' } })
  })

  it('is a credential if the application allows it', async () => {
    const withFormToken = await startProtectedApplication({ auth: { formToken: true } })
    const answer = await withFormToken.inject(write(token()))
    expect(answer.json()).toEqual({ body: { name: 'Lamp' } })
    expectUnauthorized(await withFormToken.inject(write('wrong')))
    expectUnauthorized(await withFormToken.inject({ url: '/items', json: {} }))
    expectUnauthorized(
      await withFormToken.inject({ ...write(apiKey), headers: { authorization: 'x' } }),
    )
    const form = await withFormToken.inject({
      url: '/items',
      form: { name: 'Lamp', formToken: apiKey },
    })
    expect(form.status).toBe(200)
    await withFormToken.close()
  })
})

describe('Requests, formToken', () => {
  it.each<[string, Partial<InjectRequest>, object]>([
    ['JSON object', { json: { a: 1, formToken: 't' } }, { formToken: 't', body: { a: 1 } }],
    ['form', { form: { a: '1', formToken: 't' } }, { formToken: 't', body: { a: '1' } }],
    ['multipart', { multipart: { a: '1', formToken: 't' } }, { formToken: 't', body: { a: '1' } }],
    [
      'object, where it is not a string',
      { json: { formToken: { x: 1 } } },
      { formToken: null, body: {} },
    ],
  ])('it is removed from: %s', async (_, request, expected) => {
    const answer = await bodies.inject({ url: '/token', method: 'POST', ...request })
    expect(answer.json()).toEqual(expected)
  })

  it.each<[string, Partial<InjectRequest>]>([
    ['list', { json: ['formToken', { formToken: 't' }] }],
    ['text', { text: 'formToken=t' }],
    ['nested object', { json: { a: { formToken: 't' } } }],
  ])('it stays in: %s', async (_, request) => {
    const answer = await bodies.inject({ url: '/token', method: 'POST', ...request })
    expect(answer.json()).toEqual({ formToken: null, body: request.json ?? request.text })
  })

  it('it is removed before validation', async () => {
    const answer = await bodies.inject({ url: '/item', json: { name: 'Lamp', formToken: 't' } })
    expect(answer.json()).toEqual({ isItem: true, body: { name: 'Lamp' } })
  })

  it('it is a credential only if the application allows it', async () => {
    const request = { url: '/secret', json: { formToken: bodiesKey } }
    expectError(await bodies.inject(request), 401, /^Unauthorized$/)
    await using open = await startBodies({ listen: false, auth: { formToken: true } })
    expect((await open.inject(request)).json()).toEqual({ body: {} })
  })
})
