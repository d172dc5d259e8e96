/** Checks of error responses. */
import { expect } from '@jest/globals'
import type { FieldError, InjectResponse } from '../../src/index.js'

export function expectError(answer: InjectResponse, status: number, message: RegExp): void {
  expect([answer.status, answer.json()]).toEqual([
    status,
    { error: expect.stringMatching(message), code: expect.stringMatching(/^[A-Z\d_]+$/) },
  ])
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
}

/** Expects a 401 that does not show the reason. */
export function expectUnauthorized(answer: InjectResponse): void {
  expect(answer.status).toBe(401)
  expect(answer.body).toBe('{"error":"Unauthorized","code":"UNAUTHENTICATED"}')
  expect(answer.headers['www-authenticate']).toBe('Bearer')
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers.freshtoken).toBeUndefined()
}

/** @returns the field errors of a 400 response, after checking that its message is made of theirs */
export function fieldErrorsOf(answer: InjectResponse): FieldError[] {
  expect(answer.status).toBe(400)
  const { error, errors } = answer.json() as { error: string; errors: FieldError[] }
  expect(error).toBe(errors.map(({ message }) => message).join('; '))
  return errors
}
