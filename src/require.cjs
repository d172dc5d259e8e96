/**
 * What `require('filigree')` finds where ES modules cannot be required: in Jest as it is set up by default, above all. Node itself
 * takes the condition `module-sync` and never comes here.
 */
'use strict'

const isJest = process.env.JEST_WORKER_ID !== undefined

throw new Error(
  isJest
    ? `Filigree is an ES module, and Jest runs this test as CommonJS. Let it run ES modules:
  start it with        node --experimental-vm-modules node_modules/jest/bin/jest.js
  in jest.config       extensionsToTreatAsEsm: ['.ts'], moduleNameMapper: { '^(\\\\.{1,2}/.*)\\\\.js$': '$1' },
                       transform: { '\\\\.ts$': ['ts-jest', { useESM: true }] }
  in package.json      "type": "module"`
    : `Filigree is an ES module, which this runtime or tool cannot require. Use "import", or await import('filigree').`,
)
