/** Source: decisions, Tokens. */
import { describe, expect, it } from '@jest/globals'
import { apiKey, startProtectedApplication } from './gated-application.js'

describe('keys', () => {
  it('production without keys is refused with a message that shows how to make them', async () => {
    const production = startProtectedApplication({
      env: { NODE_ENV: 'production', APP_API_KEY: apiKey },
    })
    await expect(production).rejects.toThrow(
      /Production has no keys to verify tokens\. +Create a key with `openssl genpkey/,
    )
  })

  it('a malformed key is refused at bootstrap together with all other problems', async () => {
    const faulty = startProtectedApplication({
      env: { APP_PRIVATE_KEY: 'nonsense', APP_API_KEY: 'two words' },
      auth: { rotate: 'sometimes' as never },
    })
    await expect(faulty).rejects.toMatchObject({
      problems: [
        { code: 'INVALID_OPTION' },
        { code: 'INVALID_ENVIRONMENT' },
        { code: 'AUTH_KEYS' },
      ],
    })
  })
})
