import { RollcallError } from '../errors.ts';
import type { Tokens } from '../log/oauth-login.ts';

/**
 * A token is replaced this long before it ends. It is good for 15 minutes, or as long as the credentials that it is
 * made from.
 */
const MARGIN_MS = 60_000;

/**
 * Tokens for Amazon MSK, which the AWS signer makes from the credentials that the AWS SDK finds: in the environment, in files, or by
 * the role of the Pod or machine. Only this loads the signer, which is an optional package of 29 MB.
 */
export function awsTokens(region: string): Tokens {
  let inUse: AwsToken | null = null;
  let pending: Promise<AwsToken> | null = null;
  return {
    async get() {
      if (inUse !== null && Date.now() < inUse.expiryTime - MARGIN_MS) return inUse.token;
      pending ??= newToken(region).finally(() => (pending = null));
      inUse = await pending;
      return inUse.token;
    },
    refused() {
      inUse = null;
      return true;
    },
  };
}

/** `expiryTime`: ms since the epoch. */
type AwsToken = Awaited<ReturnType<typeof newToken>>;

async function newToken(region: string) {
  const { generateAuthToken } = await import('aws-msk-iam-sasl-signer-js').catch(() => {
    throw new RollcallError('KAFKA_REFUSED', 'The package aws-msk-iam-sasl-signer-js is not installed', {
      remedy:
        'Install Rollcall with its optional packages, or install this package beside Rollcall: kafka.sasl.mechanism aws-msk-iam needs it.',
    });
  });
  try {
    return await generateAuthToken({ region });
  } catch (error) {
    // The text of the error may quote a credential.
    const why = error instanceof Error ? error.name : 'unknown error';
    throw new RollcallError('KAFKA_UNREACHABLE', `The AWS SDK found no credentials for Kafka (${why})`, {
      remedy:
        'Give this process an IAM role (in EKS by Pod Identity or IRSA), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    });
  }
}
