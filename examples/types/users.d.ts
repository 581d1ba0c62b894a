// Made from avro/users.avsc.
export interface UserId {
	type?: null | undefined | string;
	identifier?: null | undefined | string;
}

export interface GuidRef {
	sourcedId: string;
	type?: null | undefined | string;
	href?: null | undefined | string;
}

export interface Role {
	roleType?: null | undefined | string;
	role?: null | undefined | string;
	org?: null | undefined | GuidRef;
	userProfile?: null | undefined | string;
	beginDate?: null | undefined | number;
	endDate?: null | undefined | number;
}

export interface Credential {
	type?: null | undefined | string;
	username?: null | undefined | string;
	password?: null | undefined | string;
}

export interface UserProfile {
	profileId?: null | undefined | string;
	profileType?: null | undefined | string;
	vendorId?: null | undefined | string;
	applicationId?: null | undefined | string;
	description?: null | undefined | string;
	credentials?: null | undefined | Credential[];
}

export interface User {
	sourcedId: string;
	status?: null | undefined | string;
	dateLastModified?: null | undefined | number;
	userMasterIdentifier?: null | undefined | string;
	username?: null | undefined | string;
	userIds?: null | undefined | UserId[];
	enabledUser?: null | undefined | boolean;
	givenName?: null | undefined | string;
	familyName?: null | undefined | string;
	middleName?: null | undefined | string;
	preferredFirstName?: null | undefined | string;
	preferredMiddleName?: null | undefined | string;
	preferredLastName?: null | undefined | string;
	pronouns?: null | undefined | string;
	roles?: null | undefined | Role[];
	userProfiles?: null | undefined | UserProfile[];
	primaryOrg?: null | undefined | GuidRef;
	identifier?: null | undefined | string;
	email?: null | undefined | string;
	sms?: null | undefined | string;
	phone?: null | undefined | string;
	agents?: null | undefined | GuidRef[];
	grades?: null | undefined | string[];
	password?: null | undefined | string;
	resources?: null | undefined | GuidRef[];
	additionalFields?: null | undefined | string;
}
