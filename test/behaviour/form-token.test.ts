/** Source: decisions, Requests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectRequest } from 'filigree'
import { expectUnauthorized } from './error-responses.js'
import { apiKey, startGated, token } from './gated-application.js'

let app: Application

beforeAll(async () => {
  app = await startGated()
})
afterAll(() => app.close())

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
    const taking = await startGated({ auth: { formToken: true } })
    const answer = await taking.inject(write(token()))
    expect(answer.json()).toEqual({ body: { name: 'Lamp' } })
    expectUnauthorized(await taking.inject(write('wrong')))
    expectUnauthorized(await taking.inject({ url: '/items', json: {} }))
    expectUnauthorized(await taking.inject({ ...write(apiKey), headers: { authorization: 'x' } }))
    const form = await taking.inject({ url: '/items', form: { name: 'Lamp', formToken: apiKey } })
    expect(form.status).toBe(200)
    await taking.close()
  })
})
