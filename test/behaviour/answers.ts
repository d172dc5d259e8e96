/** What the suites here expect of an answer that is an error. */
import { expect } from '@jest/globals'
import type { FieldError, InjectResponse } from '../../src/index.js'

export function expectError(answer: InjectResponse, status: number, message: RegExp): void {
  expect([answer.status, answer.json()]).toEqual([
    status,
    { error: expect.stringMatching(message) },
  ])
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
}

/** A 401 that tells nothing of why. */
export function expectUnauthorized(answer: InjectResponse): void {
  expect(answer.status).toBe(401)
  expect(answer.body).toBe('{"error":"Unauthorized"}')
  expect(answer.headers['www-authenticate']).toBe('Bearer')
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers.freshtoken).toBeUndefined()
}

/** The faults of a 400, whose message they make up. */
export function faultsOf(answer: InjectResponse): FieldError[] {
  expect(answer.status).toBe(400)
  const { error, errors } = answer.json() as { error: string; errors: FieldError[] }
  expect(error).toBe(errors.map(({ message }) => message).join('; '))
  return errors
}
