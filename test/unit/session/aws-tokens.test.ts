import { beforeEach, expect, it, vi } from 'vitest';
import { awsTokens } from '../../../src/session/aws-tokens.ts';

beforeEach(() => {
  // No credentials of this machine.
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/none');
  for (const name of ['AWS_PROFILE', 'AWS_SESSION_TOKEN']) vi.stubEnv(name, undefined);
});

it('a token for MSK is a request that the credentials of the environment sign, and is used again', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3CRET-0123456789');
  const tokens = awsTokens('eu-west-1');
  const token = await tokens.get();
  const signed = new URL(Buffer.from(token, 'base64url').toString());
  const field = (name: string) => signed.searchParams.get(name);
  expect(signed.host).toBe('kafka.eu-west-1.amazonaws.com');
  expect(field('Action')).toBe('kafka-cluster:Connect');
  expect(field('X-Amz-Credential')).toMatch(/^AKIDEXAMPLE\/\d{8}\/eu-west-1\/kafka-cluster\/aws4_request$/);
  expect(field('X-Amz-Expires')).toBe('900');
  expect(field('X-Amz-Signature')).toMatch(/^[0-9a-f]{64}$/);
  expect(signed.href).not.toContain('S3CRET');
  expect(await tokens.get()).toBe(token);
});

it('an error about missing credentials for MSK says where AWS looks for them', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
  await expect(awsTokens('eu-west-1').get()).rejects.toMatchObject({
    code: 'KAFKA_UNREACHABLE',
    message: 'The AWS SDK found no credentials for Kafka (CredentialsProviderError)',
    remedy: expect.stringContaining('IAM role'),
  });
});
