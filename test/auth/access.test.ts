import { describe, expect, it } from '@jest/globals'
import {
  accessRule,
  hasRoles,
  openAccess,
  tokenAccess,
  type AccessRule,
} from '../../src/auth/access.js'

const admin: AccessRule = { ...tokenAccess, roles: ['admin'] }
const editor: AccessRule = { ...tokenAccess, roles: ['editor'] }

describe('accessRule', () => {
  it.each([
    { method: 'GET', open: true },
    { method: 'HEAD', open: true },
    { method: 'POST', open: false },
    { method: 'PUT', open: false },
    { method: 'PATCH', open: false },
    { method: 'DELETE', open: false },
    { method: 'PURGE', open: false },
  ])('leaves $method open: $open, where nothing is said', ({ method, open }) => {
    expect(accessRule({ method })).toBe(open ? openAccess : tokenAccess)
  })

  it.each([
    {
      says: 'a method decorator over the class, the documentation and the default',
      input: { method: 'POST', onMethod: openAccess, onClass: admin, docSecure: true },
      rule: openAccess,
    },
    {
      says: "a method's roles in place of its class's",
      input: { method: 'GET', onMethod: editor, onClass: admin },
      rule: editor,
    },
    {
      says: 'a bare method decorator in place of the roles of its class',
      input: { method: 'GET', onMethod: tokenAccess, onClass: admin },
      rule: tokenAccess,
    },
    {
      says: 'a class decorator over the documentation',
      input: { method: 'GET', onClass: openAccess, docSecure: true },
      rule: openAccess,
    },
    {
      says: 'a class decorator over the default',
      input: { method: 'GET', onClass: admin },
      rule: admin,
    },
    {
      says: 'secure: true over the default',
      input: { method: 'GET', docSecure: true },
      rule: tokenAccess,
    },
    {
      says: 'nothing for secure: false on a read',
      input: { method: 'GET', docSecure: false },
      rule: openAccess,
    },
    {
      says: 'nothing for secure: false on a write',
      input: { method: 'POST', docSecure: false },
      rule: tokenAccess,
    },
  ])('takes $says', ({ input, rule }) => {
    expect(accessRule(input)).toBe(rule)
  })
})

describe('hasRoles', () => {
  const both = ['admin', 'audit']
  it.each([
    { needs: [], all: false, claims: {}, passes: true },
    { needs: both, all: false, claims: { roles: ['audit'] }, passes: true },
    { needs: both, all: true, claims: { roles: ['audit'] }, passes: false },
    { needs: both, all: true, claims: { roles: ['x', 'audit', 'admin'] }, passes: true },
    { needs: both, all: false, claims: {}, passes: false },
    { needs: ['admin'], all: false, claims: { roles: 'admin' }, passes: true },
    { needs: ['admin'], all: false, claims: { roles: 'administrator' }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: { admin: true } }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: [['admin']] }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: ['Admin'] }, passes: false },
    { needs: both, all: true, claims: null, passes: true },
  ])('answers $passes to $claims where $needs are needed, all: $all', (row) => {
    const rule = { ...tokenAccess, roles: row.needs, all: row.all }
    expect(hasRoles(rule, row.claims as never)).toBe(row.passes)
  })
})
