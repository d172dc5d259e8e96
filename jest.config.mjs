/** @type {import('jest').Config} */
const config = {
  roots: ['<rootDir>/test'],
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/browser/extract-chromium.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^filigree$': '<rootDir>/src/index.ts',
    '^filigree/client/events$': '<rootDir>/client/events.ts',
    '^filigree/(throttle|health|metrics|tracing|access-log|cache|compress|idempotent|security-headers)$':
      '<rootDir>/src/modules/$1/$1.ts',
    '^filigree/client$': '<rootDir>/client/index.ts',
  },
  transform: { '^.+\\.ts$': '<rootDir>/test/transform.mjs' },
  testTimeout: 60_000,
}

export default config
