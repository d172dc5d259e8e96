/** A GET behind an RS256 token, the same token on every request; the keys and the token are made for this run. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { measureLoad } from '../harness/load-row.mjs'
import { itemOf } from '../servers/contract.mjs'

const contenders = [
  { name: 'Filigree, public', file: 'secured/filigree.ts', request: { path: '/public/7' } },
  { name: 'Filigree', file: 'secured/filigree.ts' },
  { name: 'Fastify + fast-jwt', file: 'secured/fastify.mjs' },
  { name: 'Nest + jose', file: 'secured/nest-fastify.ts' },
]

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that lives eight hours, so that none is rotated during a run. */
function signToken(privateKey, expiresAt) {
  const issuedAt = expiresAt - 8 * 3600
  const claims = { sub: 'user-1', iat: issuedAt, exp: expiresAt, jti: 'bench' }
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`
}

function prepare() {
  const pem = { publicKeyEncoding: { type: 'spki', format: 'pem' } }
  const privateKeyEncoding = { type: 'pkcs8', format: 'pem' }
  const keys = () => generateKeyPairSync('rsa', { modulusLength: 2048, ...pem, privateKeyEncoding })
  const { publicKey, privateKey } = keys()
  const now = Math.floor(Date.now() / 1000)
  const get = (token) => ({
    path: '/private/7',
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
  })
  const request = get(signToken(privateKey, now + 8 * 3600))
  const probes = [
    { request, status: 200, json: { ...itemOf(7), by: 'user-1' } },
    { request, status: 200, json: { ...itemOf(7), by: 'user-1' } },
    { request: get(undefined), status: 401 },
    { request: get(signToken(privateKey, now - 60)), status: 401 },
    { request: get(signToken(keys().privateKey, now + 3600)), status: 401 },
  ]
  return { env: { APP_PRIVATE_KEY: privateKey, APP_PUBLIC_KEY: publicKey }, request, probes }
}

export const row = {
  name: 'secured',
  title: 'GET behind an RS256 token',
  targets: [
    { of: 'Filigree', over: 'Filigree, public', atLeast: 0.85 },
    { of: 'Filigree', over: 'Fastify + fast-jwt', atLeast: 1 },
    { of: 'Filigree', over: 'Nest + jose', atLeast: 5 },
  ],
  measure: (options) => measureLoad({ contenders, ...prepare() }, options),
}
