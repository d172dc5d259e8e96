import { join } from 'node:path'
import prettier from 'eslint-config-prettier'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  { ignores: ['dist/', 'bench/', 'templates/', '**/*.js', '**/*.mjs', '**/*.cjs'] },
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: [
          './test/tsconfig.json',
          './test/tools/tsconfig.json',
          './client/ide/tsconfig.json',
        ],
        tsconfigRootDir: join(import.meta.dirname, '../..'),
      },
    },
    rules: {
      // Numbers and booleans in messages are what a reader wants to see.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Modules carry state by instance; a class that only holds decorators is what users write.
      '@typescript-eslint/no-extraneous-class': 'off',
      // An interface keeps the name of a declared type in editors: `interface CompressOptions extends OptionsOf<…> {}`.
      '@typescript-eslint/no-empty-object-type': [
        'error',
        { allowInterfaces: 'with-single-extends' },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Tests look into answers of any shape and hand wrong values over on purpose.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['test/toolchains/result-types.ts'],
    rules: {
      // Only the compiler reads the values.
      '@typescript-eslint/no-unused-vars': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
    },
  },
  prettier,
)
